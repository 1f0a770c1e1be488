// Browsers start no workers for pages that are opened from disk. There, the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.documentElement.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = data => setTimeout(() => this.onmessage?.(new MessageEvent("message", { data })))
      const script = inside.document.createElement("script")
      script.src = new URL(url, location)
      this.ready = new Promise(resolve => { script.onload = resolve })
      inside.document.documentElement.append(script)
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.onmessage(new MessageEvent("message", { data })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
