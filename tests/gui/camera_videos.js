// Makes videos in the browser, with mediabunny and WebCodecs: numbered frames, or a picture that moves.
(async () => {
  const { BufferTarget, CanvasSource, EncodedPacketSink, Mp4OutputFormat, Output, WebMOutputFormat } = await import("./mediabunny.min.mjs");
  const { Video } = await import("./video.js");
  const BITS = 8, SIDE = 32; // a frame's number in bars of black and white
  const [WIDTH, HEIGHT] = [BITS * SIDE, 2 * SIDE];

  async function made(times, draw, [width, height], { webm = false, rotation = 0, name = "made.mp4" } = {}) {
    const canvas = new OffscreenCanvas(width, height), context = canvas.getContext("2d");
    const target = new BufferTarget(), format = webm ? new WebMOutputFormat() : new Mp4OutputFormat({ fastStart: "in-memory" });
    const output = new Output({ format, target });
    const source = new CanvasSource(canvas, { codec: webm ? "vp8" : "vp9", bitrate: 2e6, keyFrameInterval: 0.5 });
    output.addVideoTrack(source, { rotation });
    await output.start();
    for (let index = 0; index < times.length; index++) {
      draw(context, index);
      await source.add(times[index], (times[index + 1] ?? times[index] + 0.04) - times[index]);
    }
    await output.finalize();
    return new File([target.buffer], name);
  }

  const numbered = (times, how) => made(times, (context, number) => {
    for (let bit = 0; bit < BITS; bit++) {
      context.fillStyle = (number >> bit) & 1 ? "white" : "black";
      context.fillRect(bit * SIDE, 0, SIDE, 2 * SIDE);
    }
  }, [WIDTH, HEIGHT], how);

  // The numbers on the frames and their times, as the page goes through the video.
  async function read(file, turned = false) {
    const video = Video.ofFile(file), canvas = new OffscreenCanvas(1, 1), seen = [];
    await video.open();
    for await (const { picture, time } of video.frames(canvas)) {
      const at = bit => (turned ? [SIDE, bit * SIDE + SIDE / 2] : [bit * SIDE + SIDE / 2, SIDE]);
      const { data, width } = picture.getContext("2d").getImageData(0, 0, picture.width, picture.height);
      let number = 0;
      for (let bit = 0; bit < BITS; bit++) {
        const [x, y] = at(bit);
        if (data[4 * (y * width + x)] > 127) number |= 1 << bit;
      }
      seen.push([number, time]);
    }
    return { seen, width: video.width, height: video.height, rate: video.rate, sought: video.seeker !== null };
  }

  async function bytes(blob) {
    const text = await new Promise(then => {
      const reader = new FileReader();
      reader.onload = () => then(reader.result);
      reader.readAsDataURL(blob);
    });
    return text.slice(text.indexOf(",") + 1);
  }

  // A video's frames as JPEG files one after the other, which Chromium plays as a camera.
  async function jpegs(file) {
    const video = Video.ofFile(file), canvas = new OffscreenCanvas(1, 1), pictures = [];
    await video.open();
    for await (const { picture } of video.frames(canvas)) pictures.push(await picture.convertToBlob({ type: "image/jpeg", quality: 0.95 }));
    return new Blob(pictures);
  }

  window.made = { bytes, jpegs, numbered, read };
  return true;
})()
