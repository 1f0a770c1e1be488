// A camera's pictures with their times, the newest only: what comes while a picture is worked on is dropped.

const WANTED = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const PROBLEMS = {
  NotAllowedError: "The browser has not been allowed to use a camera. Allow it beside the page's address, then press Start camera.",
  NotFoundError: "No camera was found. Plug one in.",
  NotReadableError: "The camera is used by another program. Close that program, then press Start camera.",
  OverconstrainedError: "That camera is gone. Choose another.",
};

export function problemOf(error) {
  return PROBLEMS[error.name] ?? `The camera cannot be used: ${error.message}`;
}

export async function cameras() {
  const devices = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  return devices.filter(device => device.kind === "videoinput");
}

export class Camera {
  #stream = null;
  #reader = null;
  #work;
  #failed;
  #opening = 0; // counts attempts: of two, the later one counts
  #busy = false;
  #waiting = null;

  // work: async ({ source, width, height, time }) => ..., time in s. failed: of an error in it.
  constructor(work, failed) {
    this.#work = work;
    this.#failed = failed;
  }

  get isOpen() {
    return this.#stream !== null;
  }

  // The camera's id; nothing if another one was opened or closed meanwhile.
  async open(id, preview, ended) {
    const opening = ++this.#opening;
    const video = id ? { ...WANTED, deviceId: { exact: id } } : WANTED;
    const stream = await navigator.mediaDevices.getUserMedia({ video, audio: false });
    if (opening !== this.#opening) {
      stream.getTracks().forEach(track => track.stop());
      return undefined;
    }
    this.#stream = stream;
    const [track] = stream.getVideoTracks();
    track.onended = () => {
      this.close(preview);
      ended();
    };
    preview.srcObject = stream;
    await preview.play();
    if (window.MediaStreamTrackProcessor) this.#read(track);
    else this.#watch(preview);
    return track.getSettings().deviceId;
  }

  close(preview) {
    this.#opening += 1;
    this.#stream?.getTracks().forEach(track => track.stop());
    this.#stream = null;
    this.#reader?.cancel().catch(() => {});
    this.#reader = null;
    preview.srcObject = null;
    this.#waiting?.close();
    this.#waiting = null;
  }

  // Also while the page is hidden behind Blender's window, where browsers do not present a video's frames.
  async #read(track) {
    const reader = new MediaStreamTrackProcessor({ track }).readable.getReader();
    this.#reader = reader;
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true }));
      if (done) return;
      const { displayWidth: width, displayHeight: height, timestamp } = value;
      this.#offer({ source: value, width, height, time: timestamp / 1e6, close: () => value.close() });
    }
  }

  #watch(preview) {
    preview.requestVideoFrameCallback((now, { captureTime, width, height }) => {
      if (!this.#stream) return;
      this.#watch(preview);
      this.#offer({ source: preview, width, height, time: (captureTime ?? now) / 1000, close() {} });
    });
  }

  async #offer(picture) {
    this.#waiting?.close();
    this.#waiting = picture;
    if (this.#busy) return;
    this.#busy = true;
    while (this.#waiting) {
      const next = this.#waiting;
      this.#waiting = null;
      await this.#work(next).catch(this.#failed);
      next.close();
    }
    this.#busy = false;
  }
}
