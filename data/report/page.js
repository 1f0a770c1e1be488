"use strict";
// A cursor over all strips and plots: each plot tells its value there, and the problems there are marked.

const SVG = "http://www.w3.org/2000/svg";
const UNITS = 6000, HEIGHT = 1000; // of a plot's drawing
const BESIDE = 1 / 1000; // about a pixel
const main = document.querySelector("main");
const [origin, frames, seconds] = ["origin", "frames", "seconds"].map((name) => Number(main.dataset[name]));
const drawings = [...document.querySelectorAll("svg.over-time")];
const problems = [...document.querySelectorAll(".problems li")];

/** The columns of a path: each of its runs goes forth along the highest values and back along the lowest. */
function columns(path, low, high) {
  const value = (down) => high - (down / HEIGHT) * (high - low);
  return path.getAttribute("d").split("z").filter(Boolean).flatMap((run) => {
    let [x, y] = [0, 0];
    const places = [];
    const numbers = run.match(/-?\d+/g).map(Number);
    for (let index = 0; index < numbers.length; index += 2) {
      x += numbers[index];
      y += numbers[index + 1];
      places.push([x, value(y)]);
    }
    const half = places.length / 2;
    return places.slice(0, half).map(([at, top], index) => ({ at, top, bottom: places[places.length - 1 - index][1] }));
  });
}

const plots = [...document.querySelectorAll(".plot")].map((figure) => {
  const { low, high, unit } = figure.dataset;
  let curves = null;
  return {
    output: figure.querySelector("output"),
    /** What the plot says at a place, 0 to 1. */
    told(share) {
      curves ??= [...figure.querySelectorAll("path[class^=take]")].map((path) => ({
        name: main.dataset.takes > 1 ? `${"AB"[Number(path.classList[0].slice(4))]} ` : "",
        columns: columns(path, Number(low), Number(high)),
      }));
      return curves.map((curve) => curve.name + reading(curve.columns, share * UNITS, unit)).join(", ");
    },
  };
});

function reading(places, at, unit) {
  let nearest = null;
  let [from, to] = [0, places.length - 1];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (places[middle].at < at) from = middle + 1;
    else to = middle;
  }
  for (const place of [places[from - 1], places[from]]) {
    if (place && (!nearest || Math.abs(place.at - at) < Math.abs(nearest.at - at))) nearest = place;
  }
  if (!nearest || Math.abs(nearest.at - at) > UNITS / 20) return "–";
  const [bottom, top] = [nearest.bottom.toFixed(1), nearest.top.toFixed(1)];
  return bottom === top ? `${top} ${unit}` : `${bottom} to ${top} ${unit}`;
}

const lines = drawings.map((drawing) => {
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("class", "cursor");
  drawing.append(line);
  return [line, drawing.viewBox.baseVal.height];
});

const bar = document.createElement("div");
bar.id = "time";
const label = document.createElement("label");
const told = document.createElement("span");
const slider = document.createElement("input");
Object.assign(slider, { type: "range", min: 0, max: Math.max(Math.round(frames) - 1, 0), step: 1, value: 0 });
label.append(told, slider);
bar.append(label);
document.body.append(bar);

let shown = false;
let wanted = null;

/** Put the cursor at a place, 0 to 1, once a picture. */
function show(share) {
  if (wanted === null) requestAnimationFrame(() => { draw(wanted); wanted = null; });
  wanted = Math.min(Math.max(share, 0), 1);
}

function draw(share) {
  shown = true;
  const x = Math.round(share * UNITS);
  for (const [line, height] of lines) line.setAttribute("d", `M${x} 0V${height}`);
  for (const plot of plots) plot.output.textContent = plot.told(share);
  for (const problem of problems) {
    const { from, to } = problem.dataset;
    problem.classList.toggle("here", share >= Number(from) - BESIDE && share <= Number(to) + 1 / frames + BESIDE);
  }
  // A frame lasts until the next one begins.
  told.textContent = `Frame ${Math.floor(origin + share * frames + 1e-6)}, ${(share * seconds).toFixed(2)} s`;
  slider.value = Math.floor(share * frames + 1e-6);
  slider.setAttribute("aria-valuetext", told.textContent);
}

for (const drawing of drawings) {
  drawing.addEventListener("pointermove", (event) => {
    const box = drawing.getBoundingClientRect();
    show((event.clientX - box.left) / box.width);
  });
}
slider.addEventListener("input", () => show((Number(slider.value) + 0.5) / frames));
for (const problem of problems) {
  problem.classList.add("go");
  problem.tabIndex = 0;
  const go = () => show(Number(problem.dataset.worst) + 0.5 / frames);
  problem.addEventListener("click", go);
  problem.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); go(); }
  });
}
told.textContent = "Point at a plot, or slide";
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const each of folded) each.open = true;
});
addEventListener("afterprint", () => { for (const each of folded) each.open = false; });
