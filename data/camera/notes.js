// What is wrong, as Knuckle's panel shows it: told again each second, since silence would mean that the page is gone.

const REPEAT = 1000; // ms

export class Notes {
  #link;
  #text = "";
  #told = null;
  #silent = false;

  constructor(link) {
    this.#link = link;
    setInterval(() => this.#text && this.#send(), REPEAT);
  }

  // A sentence; empty if nothing is wrong.
  tell(text) {
    this.#text = text;
    if (text !== this.#told) this.#send();
  }

  // Whether to say nothing, since another page is followed.
  be(silent) {
    this.#silent = silent;
  }

  #send() {
    if (!this.#silent && this.#link.offer({ kind: "note", text: this.#text })) this.#told = this.#text;
  }
}
