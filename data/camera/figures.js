// The page's figures: which hands are seen, pictures a second, and how long a picture takes.

const part = name => document.getElementById(name);

export class Figures {
  rate = 0; // Hz
  #last = performance.now();

  restart() {
    this.rate = 0;
    this.#last = performance.now();
  }

  // taken: ms
  show(hands, taken) {
    const now = performance.now();
    this.rate += 0.1 * (1000 / Math.max(now - this.#last, 1) - this.rate);
    this.#last = now;
    // By the word for a mirror's picture.
    part("hands").textContent = hands.map(hand => (hand.handedness === "Left" ? "right" : "left")).sort().join(" and ") || "none";
    part("rate").textContent = this.rate.toFixed(this.rate < 10 ? 1 : 0);
    part("taken").textContent = `${taken.toFixed(0)} ms`;
  }
}
