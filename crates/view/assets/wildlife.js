// The wildlife world: drones, who hears whom, and the poacher.

import { s } from "./dom.js";

export const actions = ["stay", "down", "right", "up", "left"];
const STEPS = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]];
export const agent = "Drone";

export const extent = (state) => [state.grid, state.grid];

/** The middle of every agent, as [x, y]. */
export const places = (state) => state.drones.map(([row, col]) => [col + 0.5, row + 0.5]);

/** Everything that never moves. */
export function ground(state) {
  const n = state.grid;
  const lines = [];
  for (let k = 1; k < n; k++) lines.push(`M${k} 0V${n}M0 ${k}H${n}`);
  return [s("rect", { class: "field", width: n, height: n, rx: 0.12 }), s("path", { class: "cells", d: lines.join("") })];
}

/** A wedge with a head from the rim of a drone, as long as it is likely. */
function arrow(p, [dr, dc], name) {
  const from = 0.34, tip = from + 0.16 + 0.72 * p, wide = 0.055 + 0.1 * p, head = Math.min(0.24, tip - from);
  const point = (a, b) => `${a * dc - b * dr} ${a * dr + b * dc}`;
  const d = `M${point(from, -wide / 2)}L${point(tip - head, -wide)}L${point(tip - head, -wide - 0.09)}L${point(tip, 0)}` +
    `L${point(tip - head, wide + 0.09)}L${point(tip - head, wide)}L${point(from, wide / 2)}Z`;
  return s("path", { class: name, d, opacity: name === "ghost" ? 1 : 0.25 + 0.75 * Math.sqrt(p) });
}

/** What an agent wants: arrows for moves, a ring for staying. */
export function wishes(probabilities, name = "wish") {
  const ring = s("circle", {
    class: `${name} ring`, r: 0.3 + 0.16 * probabilities[0], "stroke-width": 0.03 + 0.14 * probabilities[0],
  });
  return [ring, ...probabilities.slice(1).map((p, k) => (p > 0.004 ? arrow(p, STEPS[k + 1], name) : null))];
}

/** The body of an agent, around 0. */
export const body = (index) => [
  s("path", { class: "arms", d: "M-.2-.2.2.2M.2-.2-.2.2" }),
  ...[[-1, -1], [1, -1], [-1, 1], [1, 1]].map(([x, y]) => s("circle", { class: "rotor", cx: 0.21 * x, cy: 0.21 * y, r: 0.085 })),
  s("circle", { class: "drone", r: 0.215 }),
  s("text", { class: "number", y: 0.085 }, String(index)),
];

/** What else there is: its key, place, element, and what it is called. */
export function others(state) {
  const [row, col] = state.poacher;
  return [{
    key: "poacher",
    at: [col + 0.5, row + 0.5],
    label: `Poacher at row ${row}, column ${col}`,
    shape: [
      s("path", { class: "poacher", d: "M0-.42L.42 0 0 .42-.42 0Z" }),
      s("path", { class: "cross", d: "M-.12-.12.12.12M-.12.12.12-.12" }),
    ],
  }];
}

export const label = (state, index) => `Drone ${index} at row ${state.drones[index][0]}, column ${state.drones[index][1]}`;

/** The state with something moved to a cell; null if that cannot be. */
export function moved(state, key, row, col) {
  const n = state.grid;
  if (row < 0 || col < 0 || row >= n || col >= n) return null;
  if (key === "poacher") return { ...state, poacher: [row, col] };
  const index = Number(key);
  const taken = state.drones.some(([r, c], other) => other !== index && r === row && c === col);
  return taken ? null : { ...state, drones: state.drones.map((at, i) => (i === index ? [row, col] : at)) };
}

/** The cell beside something, for the arrow keys: the world is a torus. */
export function beside(state, key, dr, dc) {
  const [row, col] = key === "poacher" ? state.poacher : state.drones[Number(key)];
  const n = state.grid;
  return [(row + dr + n) % n, (col + dc + n) % n];
}

export const toggled = () => null;
export const extra = () => null;
export const stepsOf = (state) => state.steps;
export const ending = (end) => (end === "terminated" ? "The poacher is caught." : "100 steps are over, and the poacher got away.");
