// Landmarks, drawn over the picture.

const FINGERS = [[0, 1, 2, 3, 4], [0, 5, 6, 7, 8], [9, 10, 11, 12], [13, 14, 15, 16], [0, 17, 18, 19, 20], [5, 9, 13, 17]];
const COLOURS = { Left: "#e8a27c", Right: "#7cc4e8" }; // by the word for a mirror's picture

export function drawHands(canvas, hands, width, height) {
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d");
  const thick = Math.max(width, height) / 320;
  context.lineWidth = thick;
  context.lineJoin = context.lineCap = "round";
  for (const { handedness, landmarks } of hands) {
    context.strokeStyle = context.fillStyle = COLOURS[handedness];
    const at = landmarks.map(([x, y]) => [x * width, y * height]);
    for (const finger of FINGERS) {
      context.beginPath();
      finger.forEach(index => context.lineTo(...at[index]));
      context.stroke();
    }
    for (const [x, y] of at) {
      context.beginPath();
      context.arc(x, y, 1.5 * thick, 0, 2 * Math.PI);
      context.fill();
    }
  }
}

export function wipe(canvas) {
  canvas.width = canvas.height = 1;
}
