// A camera's pictures with their times, the newest only: what comes while a picture is worked on is dropped.

const WANTED = { width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30 } };
const PROBLEMS = {
  NotAllowedError: "The browser has not been allowed to use a camera. Allow it beside the page's address, then press Start camera.",
  NotFoundError: "No camera was found. Plug one in.",
  NotReadableError: "The camera is used by another program. Close that program, then press Start camera.",
  OverconstrainedError: "That camera is gone. Choose another.",
};
const STALL = 4000; // ms without a picture after which a camera is opened again
const ASLEEP = 2500; // ms between two looks, a second apart, after which the page itself was asleep

export function problemOf(error) {
  return PROBLEMS[error.name] ?? `The camera cannot be used: ${error.message}`;
}

// Whether the browser allows the camera: "granted", "denied" or "prompt", and what calls `changed` when that changes.
export async function permission(changed) {
  const status = await navigator.permissions?.query({ name: "camera" }).catch(() => null);
  if (status) status.onchange = () => changed(status.state);
  return status?.state ?? "prompt";
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
  #lastPicture = 0; // ms
  #lastLook = 0; // ms

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
    this.#lastPicture = performance.now();
    const [track] = stream.getVideoTracks();
    track.onended = () => {
      this.close(preview);
      ended();
    };
    preview.srcObject = stream;
    await preview.play();
    if (window.MediaStreamTrackProcessor) this.#read(track);
    else this.#watch(preview, opening);
    return track.getSettings().deviceId;
  }

  // Whether the system holds pictures back: a closed lid, a switch at the camera.
  get isMuted() {
    return this.#stream?.getVideoTracks()[0].muted ?? false;
  }

  // Whether no picture has come for long, though the system lets them through; asked each second.
  isStalled() {
    const now = performance.now();
    // Pictures wait for a page that was asleep, and browsers without the first present none to a page that is hidden.
    const excused = now - this.#lastLook > ASLEEP || (!this.#reader && document.hidden) || this.isMuted || !this.#stream;
    this.#lastLook = now;
    if (excused) this.#lastPicture = now;
    return now - this.#lastPicture > STALL;
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

  // What is asked for before a camera is closed may come with the first frame of the next.
  #watch(preview, opening) {
    preview.requestVideoFrameCallback((now, { captureTime, width, height }) => {
      if (opening !== this.#opening) return;
      this.#watch(preview, opening);
      this.#offer({ source: preview, width, height, time: (captureTime ?? now) / 1000, close() {} });
    });
  }

  async #offer(picture) {
    this.#lastPicture = performance.now();
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
