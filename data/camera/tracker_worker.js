// Finds hands in pictures, away from the page's own thread. A classic worker, since hands.js uses importScripts.
"use strict";

const importAll = self.importScripts.bind(self);
// hands.js also imports the model as if it were a script; it fetches it as data afterwards.
self.importScripts = (...names) => importAll(...names.filter(name => !name.endsWith(".tflite")));

// In a worker hands.js makes its drawing context, and does not keep it where it looks for it.
let context = null;
const makeContext = OffscreenCanvas.prototype.getContext;
OffscreenCanvas.prototype.getContext = function (...how) {
  context = makeContext.apply(this, how);
  return context;
};

const MOST_HANDS = 2;
const SAME = 0.2; // of a hand's reach in the picture: how far apart two findings of one hand lie on average, at most
const rounded = value => Math.round(value * 1e6) / 1e6;
const points = landmarks => landmarks.map(({ x, y, z }) => [rounded(x), rounded(y), rounded(z)]);

let hands = null;
let found = [];

// An empty module that only loads where SIMD is known: the only build that is bundled needs it.
const SIMD = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0, 10, 9, 1, 7, 0, 65, 0, 253, 15, 26, 11]);

async function start() {
  if (!WebAssembly.validate(SIMD)) throw new Error("This browser lacks WebAssembly SIMD. A newer one has it.");
  const drawing = new OffscreenCanvas(1, 1).getContext("webgl2");
  if (!drawing) throw new Error("This browser draws without WebGL 2. Switch on graphics acceleration in its settings.");
  drawing.getExtension("WEBGL_lose_context")?.loseContext();
  importScripts("hands.js");
  hands = new self.Hands({ locateFile: name => name });
  // The processor finds the same in every browser. Graphics cards differ, and a browser that imitates one takes seconds.
  hands.setOptions({
    useCpuInference: true, maxNumHands: MOST_HANDS, modelComplexity: 1, minDetectionConfidence: 0.5, minTrackingConfidence: 0.5,
  });
  hands.onResults(results => { found = handsOf(results); });
  await hands.initialize();
  hands.h.K = context;
}

function handsOf(results) {
  const { width, height } = results.image;
  results.image.close?.();
  const all = results.multiHandLandmarks.map((landmarks, index) => ({
    handedness: results.multiHandedness[index].label,
    score: rounded(results.multiHandedness[index].score),
    landmarks: points(landmarks),
    world_landmarks: points(results.multiHandWorldLandmarks[index]),
  }));
  all.sort((one, other) => other.score - one.score);
  return all.filter((hand, index) => !all.slice(0, index).some(better => areOne(hand, better, width / height)));
}

// Whether two findings are of one hand, which the models at times find twice: each point lies on the other's.
function areOne(one, other, aspect) {
  const apart = one.landmarks.map(([x, y], index) => Math.hypot((x - other.landmarks[index][0]) * aspect, y - other.landmarks[index][1]));
  const [wrist] = other.landmarks;
  const reach = Math.max(...other.landmarks.map(([x, y]) => Math.hypot((x - wrist[0]) * aspect, y - wrist[1])));
  return apart.reduce((sum, each) => sum + each, 0) / apart.length < SAME * reach;
}

self.onmessage = async ({ data }) => {
  try {
    if (data.kind === "start") await start();
    if (data.kind === "forget") hands.reset();
    if (data.kind === "picture") {
      found = [];
      await hands.send({ image: data.picture });
      data.picture.close();
    }
    self.postMessage({ hands: found });
  } catch (error) {
    self.postMessage({ problem: String(error?.message ?? error) });
  }
};
