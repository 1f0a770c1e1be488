// A video file, frame by frame at its own times: none left out and none twice. mediabunny reads the file, WebCodecs decodes;
// where that is missing, or lacks the codec, the browser's player is sent to each frame.

import { ALL_FORMATS, BlobSource, CustomSource, EncodedPacketSink, Input, VideoSampleSink } from "./mediabunny.min.mjs";
import { Seeker, canSeek } from "./seeking.js";

export const MOST_FRAMES = 30000;
const SAME = 1e-4; // s between times that are one frame's: containers round to a tick
const EVEN = 0.0015; // s that steps of a steady video may differ by: WebM counts in ms

export class Video {
  // A file that the person chose.
  static ofFile(file) {
    return new Video(new BlobSource(file), file.name, file);
  }

  // The file that is served with the page.
  static ofJob(name, size) {
    const read = async (start, end) => {
      const parts = new Uint8Array(end - start);
      for (let at = start; at < end; ) {
        const answer = await fetch("video", { headers: { Range: `bytes=${at}-${end - 1}` } });
        if (answer.status !== 206) throw new Error(`${name} cannot be read any more.`);
        const part = new Uint8Array(await answer.arrayBuffer());
        parts.set(part, at - start);
        at += part.length;
      }
      return parts;
    };
    return new Video(new CustomSource({ getSize: () => size, read, prefetchProfile: "network" }), name);
  }

  // file: what the player can be given, if anything.
  constructor(source, name, file = null) {
    this.name = name;
    this.file = file;
    this.seeker = null;
    this.input = new Input({ source, formats: ALL_FORMATS });
  }

  // Reads what the file says of itself: times of all frames in s, width and height upright, rate in Hz or null.
  async open() {
    if (!(await this.input.canRead())) throw new Error(`${this.name} is not a video that can be read, expected MP4, MOV, WebM or MKV.`);
    this.track = await this.input.getPrimaryVideoTrack();
    if (!this.track) throw new Error(`${this.name} has no pictures in it, or is cut off, expected a whole video.`);
    if (!window.VideoDecoder || !(await this.track.canDecode())) await this.#openSeeker();
    this.width = await this.track.getDisplayWidth();
    this.height = await this.track.getDisplayHeight();
    this.times = await this.#times();
    this.rate = steadyRate(this.times);
  }

  async #openSeeker() {
    if (!window.VideoDecoder && !(this.file && canSeek()))
      throw new Error("This browser does not give single frames of videos. Chrome, Edge, Firefox or Safari of the last years do.");
    if (this.file && canSeek()) {
      this.seeker = new Seeker(this.file);
      if (await this.seeker.open()) return;
    }
    const codec = (await this.track.getCodec()) ?? "of an unknown kind";
    throw new Error(`${this.name} is ${codec} video, which this browser does not decode. Another may, or save it as H.264.`);
  }

  async #times() {
    const times = [];
    for await (const packet of new EncodedPacketSink(this.track).packets(undefined, undefined, { metadataOnly: true })) {
      if (packet.timestamp > -SAME) times.push(packet.timestamp);
      if (times.length > MOST_FRAMES) throw new Error(`${this.name} has over ${MOST_FRAMES} frames. Cut it into parts.`);
    }
    if (!times.length) throw new Error(`${this.name} has no frames, expected at least one.`);
    return times.sort((a, b) => a - b);
  }

  // Each frame as { picture: canvas, time }, the canvas drawn anew each time.
  async *frames(canvas) {
    const context = canvas.getContext("2d", { alpha: false });
    [canvas.width, canvas.height] = [this.width, this.height];
    yield* this.seeker ? this.#sought(context) : this.#decoded(context);
  }

  async *#sought(context) {
    const last = this.times.at(-1), step = this.times.length > 1 ? last - this.times.at(-2) : 0;
    for (const [number, time] of this.times.entries()) {
      const next = this.times[number + 1] ?? last + step;
      if (!(await this.seeker.draw(context, time, next, this.width, this.height))) throw this.#damaged(number);
      yield { picture: context.canvas, time };
    }
  }

  async *#decoded(context) {
    let number = 0;
    for await (const sample of new VideoSampleSink(this.track).samples()) {
      if (sample.timestamp <= -SAME) {
        sample.close();
        continue;
      }
      if (Math.abs(sample.timestamp - this.times[number]) > SAME) {
        sample.close();
        throw this.#damaged(number);
      }
      sample.draw(context, 0, 0, this.width, this.height);
      sample.close();
      yield { picture: context.canvas, time: this.times[number++] };
    }
    if (number < this.times.length) throw this.#damaged(number);
  }

  #damaged(number) {
    return new Error(`${this.name} is damaged or cut off: ${number} of its ${this.times.length} frames can be read.`);
  }

  close() {
    this.seeker?.close();
    this.input.dispose();
  }
}

// The rate of times whose steps are all alike, null of others.
export function steadyRate(times) {
  if (times.length < 2) return null;
  const mean = (times.at(-1) - times[0]) / (times.length - 1);
  const steady = times.every((time, index) => Math.abs(time - times[0] - index * mean) < EVEN);
  return steady ? Math.round(1e4 / mean) / 1e4 : null;
}
