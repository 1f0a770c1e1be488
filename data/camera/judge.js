// What is wrong with a camera's picture, in plain words.

const DARK = 35; // mean of 0 to 255 below which a hand is hardly found
const SMALL = 0.12; // of the picture's height: the palm's length of a hand that is too far away
const UNSEEN = 2; // s without a hand before it is told
const SLOW = [10, 13]; // pictures a second: fewer are told, until there are more than the second
const LOOKS = 20; // pictures between two looks at the light

export class Judge {
  #light = new OffscreenCanvas(32, 18).getContext("2d", { willReadFrequently: true, alpha: false });
  #brightness = 255;
  #pictures = 0;
  #seen = null;
  #slow = false;

  look(picture) {
    if (this.#pictures++ % LOOKS) return;
    this.#light.drawImage(picture, 0, 0, 32, 18);
    const { data } = this.#light.getImageData(0, 0, 32, 18);
    let sum = 0;
    for (let at = 0; at < data.length; at += 4) sum += 0.3 * data[at] + 0.59 * data[at + 1] + 0.11 * data[at + 2];
    this.#brightness = (4 * sum) / data.length;
  }

  // A sentence; empty if all is well.
  judge(hands, time, width, height, rate) {
    this.#seen = hands.length || this.#seen === null ? time : this.#seen;
    if (!hands.length && time - this.#seen > UNSEEN) {
      if (this.#brightness < DARK) return "It is too dark to find a hand. Switch on a light in front of you.";
      return "No hand is seen. Hold one up, with all of it in the picture.";
    }
    for (const { landmarks } of hands) {
      if (landmarks.filter(([x, y]) => x < 0 || x > 1 || y < 0 || y > 1).length > 2)
        return "A hand is cut off by the picture's edge. Move it inside.";
      const [from, to] = [landmarks[0], landmarks[9]];
      if (Math.hypot((from[0] - to[0]) * width, (from[1] - to[1]) * height) < SMALL * height && palmIsFlat(landmarks))
        return "A hand is small in the picture. Come closer.";
    }
    if (hands.length && this.#brightness < DARK) return "It is dark. More light makes the hand steadier.";
    this.#slow = this.#pictures > 3 * LOOKS && rate < SLOW[this.#slow ? 1 : 0];
    return this.#slow ? "This computer manages few pictures a second. Close other programs for more." : "";
  }
}

// Whether the palm is not seen along its length, in which case it is short in any picture.
function palmIsFlat(landmarks) {
  return Math.abs(landmarks[9][2]) < 0.1;
}
