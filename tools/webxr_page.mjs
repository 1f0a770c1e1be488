// Opens Knuckle's page for headsets without headset and browser: in Node, with the hands of Meta's emulator IWER.
//   npm install --prefix build/iwer iwer@2 ws@8
//   node tools/webxr_page.mjs http://127.0.0.1:8765/
// The left hand pinches three times in the time in which the right one does so four times.

const packages = new URL("../build/iwer/node_modules/", import.meta.url);
const { XRDevice, metaQuest3 } = await import(new URL("iwer/lib/index.js", packages));
const where = new URL(process.argv[2]);
const page = await (await fetch(where)).text();

// What of a browser the page and IWER ask for. Nothing is drawn: every function of WebGL is there and does nothing.
class WebGL2RenderingContext {
  constructor() {
    this.canvas = { width: 1, height: 1, style: {} };
    return new Proxy(this, { get: (own, name) => (name in own ? own[name] : () => []) });
  }
}
const nothing = () => {};
const element = () => ({
  style: {}, dataset: {}, appendChild: nothing, removeChild: nothing, remove: nothing, addEventListener: nothing,
  setAttribute: nothing, getContext: () => new WebGL2RenderingContext(),
});
const parts = { said: { set textContent(text) { console.log(text); } }, start: {} };
Object.defineProperty(globalThis, "navigator", { value: { userAgent: "node" }, configurable: true, writable: true });
Object.assign(globalThis, {
  window: globalThis, WebGL2RenderingContext, location: where, isSecureContext: true, innerWidth: 1, innerHeight: 1,
  addEventListener: nothing, dispatchEvent: nothing,
  localStorage: { getItem: () => null, setItem: nothing, removeItem: nothing },
  document: { createElement: element, getElementById: name => parts[name], body: element() },
  requestAnimationFrame: then => setTimeout(() => then(performance.now()), 1000 / 72),
});
globalThis.WebSocket ??= (await import(new URL("ws/wrapper.mjs", packages))).WebSocket;

const device = new XRDevice(metaQuest3);
device.installRuntime();
device.primaryInputMode = "hand";
device.hands.left.position.set(-0.15, 1.2, -0.4);
device.hands.right.position.set(0.15, 1.2, -0.4);
setInterval(() => {
  const pinched = times => 0.5 - 0.5 * Math.cos(times * performance.now() / 1000);
  device.hands.left.updatePinchValue(pinched(3));
  device.hands.right.updatePinchValue(pinched(4));
}, 10);

new Function(page.match(/<script type="module">([\s\S]*)<\/script>/)[1])();
setTimeout(() => parts.start.onclick(), 500);
