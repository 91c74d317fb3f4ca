// A scene may say that the opposite edges of a part of it are joined. Then the short way between two places may lead
// across an edge, and the edges look open.

import { s } from "./dom.js";

/** The shortest way from one place to another, [x, y]. */
export function way(torus, from, to) {
  return [0, 1].map((k) => {
    const straight = to[k] - from[k];
    return torus ? straight - torus.size[k] * Math.round(straight / torus.size[k]) : straight;
  });
}

/** Where that way has to begin to be seen whole: at `from`; and, where it leads across an edge, once more before the other. */
export function starts(torus, from, to) {
  const step = way(torus, from, to);
  const shift = [0, 1].map((k) => Math.round(1e3 * (from[k] + step[k] - to[k])) / 1e3);
  const along = (k) => (shift[k] === 0 ? [from[k]] : [from[k], from[k] - shift[k]]);
  return along(0).flatMap((x) => along(1).map((y) => [x, y]));
}

/** Small arrows at the edges that say: here it goes on. In the margin if there is one, inside otherwise. */
export function openings(torus, [width, height]) {
  const { corner: [left, top], size: [wide, high] } = torus;
  const unit = Math.min(wide, high) / 7, size = 0.14 * unit;
  const margin = Math.min(left, top, width - left - wide, height - top - high);
  const from = margin >= 1.6 * size ? 0.35 * size : -1.35 * size;
  const sides = [[1, 0, left + wide, top + high / 2, high], [-1, 0, left, top + high / 2, high],
    [0, 1, left + wide / 2, top + high, wide], [0, -1, left + wide / 2, top, wide]];
  const marks = sides.flatMap(([dx, dy, x, y, long]) => [-1 / 3, 0, 1 / 3].map((part) => {
    const point = (out, along) => `${x + dx * (from + out) + dy * (part * long + along)} ${y + dy * (from + out) + dx * (part * long + along)}`;
    return `M${point(0, -size)}L${point(size, 0)}L${point(0, size)}`;
  }));
  const open = s("rect", { class: "open-edge", x: left, y: top, width: wide, height: high, "stroke-width": 0.05 * unit, "stroke-dasharray": `${0.13 * unit} ${0.2 * unit}` });
  return s("g", { class: "openings", "data-edges": "joined", "aria-hidden": true }, open, s("path", { d: marks.join(""), "stroke-width": 0.06 * unit }));
}
