// The worker that finds hands, as a function from a picture to hands.

const MOST_PIXELS = 1280; // of a picture's longer side: the models look at 256 pixels of a hand
const PATIENCE = 60000; // ms for the models to load

export class Tracker {
  #worker = null;
  #answers = [];

  async start() {
    if (!window.OffscreenCanvas || !window.createImageBitmap)
      throw new Error("This browser cannot draw in the background. Chrome, Edge, Firefox or Safari of the last years can.");
    this.#worker = new Worker("tracker_worker.js");
    this.#worker.onmessage = ({ data }) => this.#answers.shift()?.(data);
    const failed = new Promise((_, reject) => {
      this.#worker.onerror = event => reject(new Error(`The models cannot be loaded (${event.message ?? "no answer"}).`));
      setTimeout(() => reject(new Error("The models do not load. Reload this page.")), PATIENCE);
    });
    await Promise.race([this.#ask({ kind: "start" }), failed]);
  }

  // The hands of a picture: an ImageBitmap, which is given away.
  async find(picture) {
    return (await this.#ask({ kind: "picture", picture }, [picture])).hands;
  }

  // Forgets where hands were: the next picture follows on none.
  async forget() {
    await this.#ask({ kind: "forget" });
  }

  #ask(message, given = []) {
    return new Promise((resolve, reject) => {
      this.#answers.push(answer => (answer.problem ? reject(new Error(answer.problem)) : resolve(answer)));
      this.#worker.postMessage(message, given);
    });
  }
}

// A picture for the models: not larger than they use.
export function reduced(source, width, height) {
  const scale = Math.min(1, MOST_PIXELS / Math.max(width, height));
  const size = { resizeWidth: Math.round(width * scale), resizeHeight: Math.round(height * scale), resizeQuality: "medium" };
  return createImageBitmap(source, scale < 1 ? size : {});
}
