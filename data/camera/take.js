// The landmarks of a video as the file that Knuckle imports: a head, and a line for each frame.

export function takeText(video, frames) {
  const head = { format: "knuckle camera landmarks", version: 1, source: video.name, width: video.width, height: video.height, rate: video.rate };
  return `${JSON.stringify(head).slice(0, -1)}, "frames": [\n${frames.map(frame => JSON.stringify(frame)).join(",\n")}\n]}\n`;
}

export function takeName(video) {
  return `${video.name.replace(/\.[^.]*$/, "")}.json`;
}
