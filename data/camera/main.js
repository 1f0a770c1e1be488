// The page: what its buttons do, and what it says.

import { Camera, cameras, permission, problemOf } from "./camera.js";
import { drawHands, wipe } from "./drawing.js";
import { Figures } from "./figures.js";
import { Judge } from "./judge.js";
import { Link } from "./link.js";
import { Notes } from "./notes.js";
import { takeName, takeText } from "./take.js";
import { Tracker, reduced } from "./tracker.js";
import { Video } from "./video.js";

const GONE = 4000; // ms without Knuckle after which a camera is switched off, and the browser of a video ends
const IDLE = "The camera page is open and waits: press Start camera there.";
const NONE = "No camera was found. Plug one in, or choose a video.";
const UNSENT = " Knuckle was away or follows another page: save the landmarks here.";
const WITHDRAWN = "The browser no longer allows the camera. Allow it beside the page's address, and it goes on.";
const AWAY = "Knuckle is not listening. Press Start in Blender, and it goes on.";

const part = name => document.getElementById(name);
const tracker = new Tracker();
const camera = new Camera(showLive, error => note(`Hands cannot be found: ${error.message} Reload this page.`));
const link = new Link(showLink, anotherIsFollowed);
const notes = new Notes(link);
const figures = new Figures();
let judge = new Judge();
let going = null; // the video that is gone through
let wanted = ""; // the camera to go on with once it, its permission or Knuckle is back; "" if none is
let leaving = 0; // the timer of what happens when Knuckle stays away
let job = {}; // the video that the page was opened for, as job.json tells

function say(text, kind = "") {
  if (part("said").textContent !== text) part("said").textContent = text;
  part("said").dataset.kind = kind;
}

// Also tells Knuckle, whose panel shows it.
function note(problem) {
  notes.tell(problem);
  if (!link.isOpen && camera.isOpen) say(AWAY, "bad");
  else say(problem || "Following.", problem ? "bad" : "good");
}

function showLink(isOpen) {
  part("link").dataset.state = isOpen ? "open" : "closed";
  part("link").textContent = isOpen ? "Connected to Knuckle" : "Knuckle is not listening: press Start in Blender";
  if (!isOpen) {
    leaving ||= setTimeout(leave, GONE);
    return;
  }
  clearTimeout(leaving);
  leaving = 0;
  notes.be(false);
  if (camera.isOpen) link.offer({ kind: "start" });
  goOn();
}

// Knuckle has gone without a word. A browser that it opened for a video ends with its only page; a camera is switched off.
function leave() {
  if (job.video) window.close();
  if (!camera.isOpen) return;
  const id = part("cameras").value;
  stopCamera("Knuckle has stopped listening, and the camera is off. Press Start in Blender, and it goes on.");
  wanted = id;
}

async function goOn() {
  if (wanted && !going && !camera.isOpen) await startCamera(wanted);
}

async function showLive({ source, width, height, time }) {
  const picture = await reduced(source, width, height);
  judge.look(picture);
  const began = performance.now();
  const hands = await tracker.find(picture);
  if (!camera.isOpen) return;
  link.offer({ kind: "live", time_s: time, width, height, hands });
  figures.show(hands, performance.now() - began);
  drawHands(part("overlay"), hands, width, height);
  note(judge.judge(hands, time, width, height, figures.rate));
}

async function listCameras() {
  const found = await cameras();
  const chosen = part("cameras").value;
  part("cameras").replaceChildren(...found.map(({ deviceId, label }, index) => new Option(label || `Camera ${index + 1}`, deviceId)));
  part("cameras").disabled = found.length < 2;
  if (found.some(({ deviceId }) => deviceId === chosen)) part("cameras").value = chosen;
  if (!camera.isOpen) part("start").disabled = !found.length || going !== null;
  if (!found.length && !going) note(NONE);
  if (found.length && part("said").textContent === NONE) wait("Ready.");
  if (found.some(({ deviceId }) => deviceId === wanted)) await goOn();
}

async function startCamera(id = part("cameras").value) {
  wanted = "";
  notes.be(false);
  link.offer({ kind: "start" });
  say("Waiting for the camera.");
  try {
    await tracker.forget();
    judge = new Judge();
    figures.restart();
    const opened = await camera.open(id, part("preview"), cameraWasTaken);
    if (!opened) return;
    if (going) return camera.close(part("preview"));
    wanted = "";
    await listCameras();
    part("cameras").value = opened;
  } catch (error) {
    camera.close(part("preview"));
    note(problemOf(error));
  }
  showStage();
}

function stopCamera(text = "Stopped.") {
  camera.close(part("preview"));
  wipe(part("overlay"));
  wait(text);
  showStage();
}

// Says that nothing is done; Knuckle is told what would begin it.
function wait(text) {
  say(text);
  idle();
}

const idle = () => notes.tell(part("cameras").length ? IDLE : NONE);

// The page that was started last is followed. A video is gone through to its end: its landmarks can be saved here.
function anotherIsFollowed() {
  wanted = "";
  notes.be(true);
  if (going) going.sent = false;
  if (camera.isOpen) stopCamera("Another page of Knuckle was started, and is followed now.");
}

async function cameraWasTaken() {
  wanted = part("cameras").value;
  wipe(part("overlay"));
  showStage();
  const denied = (await permission(permissionChanged)) === "denied";
  if (wanted) note(denied ? WITHDRAWN : "The camera was taken away. Plug it in again, and it goes on.");
}

async function permissionChanged(state) {
  if (state === "granted") await goOn();
}

// Each second: a camera that sends nothing, as after a computer's sleep, is opened again.
async function watch() {
  if (camera.isStalled()) {
    const id = part("cameras").value;
    camera.close(part("preview"));
    await startCamera(id);
    if (!camera.isOpen) wanted = id;
  } else if (camera.isMuted) {
    note("The camera sends no pictures: its switch or cover, or the computer's settings, hold them back.");
  }
}

function showStage() {
  const live = camera.isOpen;
  part("preview").hidden = !live;
  part("drawn").hidden = going === null;
  part("empty").hidden = live || going !== null;
  part("stage").classList.toggle("mirrored", live && part("mirror").checked);
  part("start").textContent = live ? "Stop camera" : "Start camera";
  part("start").disabled = going !== null;
  part("choose").disabled = going !== null;
  part("going").hidden = going === null;
}

async function track(video) {
  if (going) return;
  if (camera.isOpen) stopCamera();
  notes.tell("");
  going = { cancelled: false, paused: false, sent: true, go() {} };
  part("download").hidden = true;
  part("progress").value = 0;
  part("count").textContent = "";
  part("pause").textContent = "Pause";
  showStage();
  say(`Reading ${video.name}.`);
  try {
    await tracker.forget();
    await video.open();
    const frames = await goThrough(video);
    if (frames) finish(video, frames);
  } catch (error) {
    await link.send({ kind: "stopped", problem: error.message });
    say(error.message, "bad");
  }
  video.close();
  going = null;
  if (!job.video) idle();
  wipe(part("overlay"));
  showStage();
}

// The frames with their hands; null if the person has cancelled.
async function goThrough(video) {
  const { name, width, height, times } = video;
  going.sent = await link.send({ kind: "video", source: name, width, height, rate: video.rate, frames: times.length });
  notes.be(false); // not earlier: the note of a page that is not followed would be answered
  const frames = [];
  for await (const { picture, time } of video.frames(part("drawn"))) {
    if (going.paused) await new Promise(then => { going.go = then; });
    if (going.cancelled) {
      await link.send({ kind: "stopped", problem: "cancelled on the page" });
      say("Cancelled.");
      return null;
    }
    const began = performance.now();
    const hands = await tracker.find(await reduced(picture, width, height));
    const frame = { time_s: Math.round(time * 1e6) / 1e6, hands };
    frames.push(frame);
    going.sent = going.sent && (await link.send({ kind: "frame", ...frame })) && going.sent;
    figures.show(hands, performance.now() - began);
    drawHands(part("overlay"), hands, width, height);
    part("progress").value = frames.length / times.length;
    part("count").textContent = `Frame ${frames.length} of ${times.length}`;
    say(`Finding hands in ${name}.${going.sent ? "" : UNSENT}`);
  }
  going.sent = going.sent && (await link.send({ kind: "end" }));
  return frames;
}

function finish(video, frames) {
  const seen = frames.filter(({ hands }) => hands.length).length;
  if (!seen) return say(`No hand is seen in ${video.name}.`, "bad");
  const old = part("download").href;
  if (old) URL.revokeObjectURL(old);
  part("download").href = URL.createObjectURL(new Blob([takeText(video, frames)], { type: "application/json" }));
  part("download").download = takeName(video);
  part("download").hidden = false;
  return say(`${video.name}: a hand in ${seen} of ${frames.length} frames.${going.sent ? "" : UNSENT}`, "good");
}

function listen() {
  part("start").onclick = () => (camera.isOpen ? stopCamera() : startCamera());
  part("cameras").onchange = () => camera.isOpen && (camera.close(part("preview")), startCamera());
  part("mirror").onchange = showStage;
  part("choose").onclick = () => part("file").click();
  part("file").onchange = () => {
    const [file] = part("file").files;
    part("file").value = "";
    if (file) track(Video.ofFile(file));
  };
  part("pause").onclick = () => {
    going.paused = !going.paused;
    part("pause").textContent = going.paused ? "Go on" : "Pause";
    if (!going.paused) going.go();
  };
  part("cancel").onclick = () => {
    going.cancelled = true;
    going.paused = false;
    going.go();
  };
  navigator.mediaDevices?.addEventListener("devicechange", listCameras);
  const stage = document.body;
  stage.ondragover = event => {
    event.preventDefault();
    part("stage").classList.add("over");
  };
  stage.ondragleave = () => part("stage").classList.remove("over");
  stage.ondrop = event => {
    event.preventDefault();
    part("stage").classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file && !part("choose").disabled) track(Video.ofFile(file));
  };
}

async function begin() {
  listen();
  say("Loading the models.");
  job = await (await fetch("job.json")).json();
  try {
    await tracker.start();
  } catch (error) {
    notes.tell(error.message);
    say(error.message, "bad");
    while (job.video && !(await link.send({ kind: "stopped", problem: error.message }))) await new Promise(then => setTimeout(then, 100));
    return;
  }
  part("choose").disabled = false;
  if (job.video) {
    while (!link.isOpen) await new Promise(then => setTimeout(then, 50));
    await track(Video.ofJob(job.video, job.size));
    return;
  }
  setInterval(watch, 1000);
  if (!window.isSecureContext) return note("At this address browsers allow no camera. Open the page by https or on localhost, or choose a video.");
  await listCameras();
  if (part("cameras").length) wait("Ready.");
}

begin();
