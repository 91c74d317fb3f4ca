// How likely an agent's actions are, drawn around it: arrows, bars, and a ring for staying as it is. Around 0.

import { s } from "./dom.js";

/** Less is not seen. */
const LEAST = 0.004;
/** Two wishes that differ by less look the same. */
const SEEN = 0.02;

/** A wedge with a head from the rim of an agent, as long as it is likely. */
function arrow(p, [x, y], radius, name) {
  const way = Math.hypot(x, y);
  if (way === 0) return ring(p, radius, name);
  const [dx, dy] = [x / way, y / way];
  const from = 0.8 * radius, tip = from + 0.36 * radius + 0.72 * way * p;
  const wide = radius * (0.125 + 0.23 * p), head = Math.min(0.55 * radius, tip - from);
  const point = (a, b) => `${a * dx - b * dy} ${a * dy + b * dx}`;
  const d = `M${point(from, -wide / 2)}L${point(tip - head, -wide)}L${point(tip - head, -wide - 0.2 * radius)}L${point(tip, 0)}`
    + `L${point(tip - head, wide + 0.2 * radius)}L${point(tip - head, wide)}L${point(from, wide / 2)}Z`;
  return s("path", { class: name, d });
}

/** A bar along the way that is opened, as long as it is likely. */
function bar(p, { from, to }, radius, name) {
  const centre = [0, 1].map((k) => (from[k] + to[k]) / 2), part = 0.15 + 0.85 * p;
  const end = (point) => [0, 1].map((k) => centre[k] + part * (point[k] - centre[k]));
  const [[x1, y1], [x2, y2]] = [end(from), end(to)];
  const half = Math.hypot(x2 - x1, y2 - y1) / 2, wide = radius * (0.1 + 0.16 * p);
  const turn = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  const place = `translate(${centre[0]} ${centre[1]}) rotate(${turn})`;
  return s("rect", { class: name, x: -half, y: -wide, width: 2 * half, height: 2 * wide, rx: wide, transform: place });
}

/** A ring around the agent, as thick as it is likely. */
function ring(p, radius, name) {
  return s("circle", { class: `${name} ring`, r: radius * (1.06 + 0.1 * p), "stroke-width": radius * (0.06 + 0.22 * p) });
}

/** One agent's wishes. Without marks, a world leaves them to the table below it. With `other` wishes beside them, they are
 * only outlined, and only where they differ. */
export function wishes(row, marks, radius, other = null) {
  const ghost = other !== null, name = ghost ? "ghost" : "wish";
  const lines = ghost ? { "stroke-width": 0.08 * radius, "stroke-dasharray": `${0.21 * radius} ${0.14 * radius}` } : {};
  return marks.map((mark, a) => {
    const p = row[a];
    if (!(p > LEAST) || (ghost && Math.abs(p - other[a]) < SEEN)) return null;
    const drawn = mark === "stay" ? ring(p, radius, name)
      : mark.arrow ? arrow(p, mark.arrow, radius, name)
      : bar(p, mark.bar, radius, name);
    for (const [key, value] of Object.entries(lines)) drawn.setAttribute(key, value);
    if (!ghost) drawn.setAttribute("opacity", mark.bar ? 0.3 + 0.7 * p : 0.25 + 0.75 * Math.sqrt(p));
    return drawn;
  }).filter(Boolean);
}
