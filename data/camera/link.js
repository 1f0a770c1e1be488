// The connection to Knuckle, which comes back by itself.

const MOST_WAITING = 65536; // bytes: live frames that Knuckle has not taken yet are not added to
const RETRY = 1000; // ms

export class Link {
  #socket = null;
  #page = Math.random().toString(36).slice(2); // by which Knuckle knows it from others
  #changed;
  #unfollowed;

  // changed: of whether Knuckle is there. unfollowed: of another page that is followed now.
  constructor(changed, unfollowed) {
    this.#changed = changed;
    this.#unfollowed = unfollowed;
    this.#connect();
    addEventListener("pagehide", () => this.offer({ kind: "leave" }));
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  #connect() {
    const here = location.href.split(/[?#]/)[0];
    this.#socket = new WebSocket(here.replace(/^http/, "ws"));
    this.#socket.onopen = () => this.#changed(true);
    this.#socket.onmessage = ({ data }) => JSON.parse(data).kind === "unfollowed" && this.#unfollowed();
    this.#socket.onclose = () => {
      this.#changed(false);
      setTimeout(() => this.#connect(), RETRY);
    };
  }

  #text(message) {
    return JSON.stringify({ page: this.#page, ...message });
  }

  // Sends a message unless Knuckle is away or behind; whether it was sent.
  offer(message) {
    if (!this.isOpen || this.#socket.bufferedAmount > MOST_WAITING) return false;
    this.#socket.send(this.#text(message));
    return true;
  }

  // Sends a message, waiting until Knuckle has taken earlier ones; false if Knuckle is away.
  async send(message) {
    const socket = this.#socket;
    if (!this.isOpen) return false;
    socket.send(this.#text(message));
    while (socket.bufferedAmount > MOST_WAITING && socket.readyState === WebSocket.OPEN) await new Promise(then => setTimeout(then, 5));
    return socket.readyState === WebSocket.OPEN;
  }
}
