// A video's frames by seeking, for browsers without WebCodecs or a codec in it: the browser tells which frame it shows.

const PATIENCE = 15000; // ms for a frame to be shown; a page that is hidden waits until it is not
const AFTER = 0.001; // s: browsers guess where a frame of varied length ends, but not where it begins
const SAME = 6e-4; // s between a time in the file and the browser's word for it

export const canSeek = () => "requestVideoFrameCallback" in HTMLVideoElement.prototype;

export class Seeker {
  #player = document.createElement("video");
  #url;

  constructor(file) {
    this.#url = URL.createObjectURL(file);
    this.#player.muted = true;
    this.#player.playsInline = true;
    this.#player.preload = "auto";
    document.getElementById("stage").prepend(this.#player); // browsers show no frames of a player that is nowhere
  }

  // Whether the browser can show the video at all.
  async open() {
    return new Promise(then => {
      this.#player.onloadeddata = () => then(true);
      this.#player.onerror = () => then(false);
      this.#player.src = this.#url;
    });
  }

  // Draws the frame that begins at a time and ends at the next; whether it was that one. Both in s.
  async draw(context, time, next, width, height) {
    const shown = await this.#show(Math.min((time + next) / 2, time + AFTER));
    // Chrome tells the frame's time, Firefox the one that was sought.
    if (shown === null || shown < time - SAME || shown > Math.max(next - SAME, time + SAME)) return false;
    context.drawImage(this.#player, 0, 0, width, height);
    return true;
  }

  // Seeks; the time of the frame that is shown, null if none is.
  #show(time) {
    return new Promise(then => {
      const end = shown => {
        clearInterval(waits);
        then(shown);
      };
      const waits = setInterval(() => document.hidden || end(null), PATIENCE);
      this.#player.onerror = () => end(null);
      this.#player.requestVideoFrameCallback((_, { mediaTime }) => end(mediaTime));
      this.#player.currentTime = time;
    });
  }

  close() {
    this.#player.remove();
    this.#player.removeAttribute("src");
    URL.revokeObjectURL(this.#url);
  }
}
