// The traffic world: one-way lanes, lights, vehicles, and junctions that decide.

import { s } from "./dom.js";

export const actions = ["columns go", "rows go"];
export const agent = "Junction";
/** Steps after which a new city has something to show. */
export const opening = 16;
const PITCH = 8;
// Direction (x, y) of each lane, and its stop line, in cells from the junction's corner.
const LANES = [[[1, 0], [2, 2.5]], [[0, -1], [2.5, 5]], [[-1, 0], [5, 4.5]], [[0, 1], [4.5, 2]]];

export const extent = (state) => [PITCH * state.cols - 1, PITCH * state.rows - 1];
const corner = (state, index) => [PITCH * (index % state.cols), PITCH * Math.floor(index / state.cols)];
export const places = (state) => state.phases.map((_, i) => corner(state, i).map((v) => v + 3.5));

export function ground(state) {
  const [width, height] = extent(state);
  const blocks = state.phases.map((_, i) => {
    const [x, y] = corner(state, i);
    return s("rect", { class: "block", x, y, width: 7, height: 7, rx: 0.5 });
  });
  const lanes = [], arrows = [];
  for (let k = 0; k < state.rows; k++) for (const r of [2, 4]) lanes.push(`M0 ${PITCH * k + r + 0.05}h${width}v.9h${-width}Z`);
  for (let k = 0; k < state.cols; k++) for (const c of [2, 4]) lanes.push(`M${PITCH * k + c + 0.05} 0v${height}h.9v${-height}Z`);
  state.phases.forEach((_, i) => {
    const [x, y] = corner(state, i);
    for (const [[dx, dy], [sx, sy]] of LANES) {
      for (const ahead of [-1.5, 4]) {
        const at = (a, b) => `${x + sx + (ahead + a) * dx - b * dy} ${y + sy + (ahead + a) * dy + b * dx}`;
        arrows.push(`M${at(0.2, 0)}L${at(-0.12, 0.24)}L${at(-0.02, 0)}L${at(-0.12, -0.24)}Z`);
      }
    }
  });
  return [...blocks, s("path", { class: "lane", d: lanes.join("") }), s("path", { class: "chevron", d: arrows.join("") })];
}

/** What a junction wants: bars along the streets that shall go, as long as that is likely. */
export function wishes([columns, rows], name = "wish") {
  const bar = (p, dx, dy) => {
    const half = 0.5 + 2.9 * p, wide = 0.1 + 0.16 * p;
    const [x, y] = dx ? [-half, -wide] : [-wide, -half];
    return s("rect", {
      class: name, x, y, width: dx ? 2 * half : 2 * wide, height: dx ? 2 * wide : 2 * half, rx: wide,
      opacity: name === "ghost" ? 1 : 0.3 + 0.7 * p,
    });
  };
  return [bar(columns, 0, 1), bar(rows, 1, 0)];
}

export const body = (index) => [
  s("circle", { class: "junction", r: 0.62 }),
  s("text", { class: "number", y: 0.2, "font-size": index > 9 ? 0.52 : 0.62 }, String(index)),
];

/** Lights: a closed bar is red, an open gate green. */
function lights(state) {
  const red = [], green = [];
  state.phases.forEach((phase, i) => {
    const [x, y] = corner(state, i);
    for (const [[dx, dy], [sx, sy]] of LANES) {
      const at = (b) => `${x + sx - 0.1 * dx - b * dy} ${y + sy - 0.1 * dy + b * dx}`;
      if ((phase === 0) === (dx === 0)) green.push(`M${at(-0.5)}L${at(-0.34)}M${at(0.34)}L${at(0.5)}`);
      else red.push(`M${at(-0.46)}L${at(0.46)}`);
    }
  });
  return [s("path", { class: "red", d: red.join("") }), s("path", { class: "green", d: green.join("") })];
}

export const under = lights;

const tint = (waiting) => Math.round((waiting / (waiting + 10)) * 8);

export function others(state) {
  return state.vehicles.map(([row, col, dr, dc, waiting, marked]) => {
    const at = (a, b) => `${a * dc - b * dr} ${a * dr + b * dc}`;
    const body = `M${at(0.34, 0)}L${at(0.14, 0.27)}L${at(-0.4, 0.27)}L${at(-0.4, -0.27)}L${at(0.14, -0.27)}Z`;
    return {
      key: `v${row}:${col}`,
      at: [col + 0.5, row + 0.5],
      came: (before) => cameFrom(before, row, col, dr, dc, waiting),
      label: `Vehicle at row ${row}, column ${col}, waited ${waiting}`,
      shape: [
        s("path", { class: `vehicle wait${tint(waiting)}`, d: body }),
        marked ? s("path", { class: "brake", d: `M${at(-0.33, 0.17)}L${at(-0.33, -0.17)}` }) : null,
      ],
    };
  });
}

/** Where a vehicle was a step ago: on its cell if it waited, one cell back if it drove. */
function cameFrom(before, row, col, dr, dc, waiting) {
  if (!before?.vehicles) return null;
  const was = (r, c, w) => before.vehicles.some((v) => v[0] === r && v[1] === c && v[2] === dr && v[3] === dc && v[4] === w);
  if (was(row, col, waiting - 1) || was(row, col, waiting)) return null;
  return was(row - dr, col - dc, waiting) ? [col - dc + 0.5, row - dr + 0.5] : null;
}

export const label = (state, index) => `Junction ${index}: ${state.phases[index] === 0 ? "columns" : "rows"} have green`;

/** The direction of the lane through a cell; its own if it has one there. */
function laneAt(row, col, own) {
  const found = [];
  if (row % PITCH === 2) found.push([0, 1]);
  if (row % PITCH === 4) found.push([0, -1]);
  if (col % PITCH === 2) found.push([-1, 0]);
  if (col % PITCH === 4) found.push([1, 0]);
  return found.find(([dr, dc]) => dr === own[0] && dc === own[1]) ?? found[0] ?? null;
}

export function moved(state, key, row, col) {
  const [width, height] = extent(state);
  if (!key.startsWith("v") || row < 0 || col < 0 || row >= height || col >= width) return null;
  const [r, c] = key.slice(1).split(":").map(Number);
  const index = state.vehicles.findIndex((v) => v[0] === r && v[1] === c);
  const taken = state.vehicles.some((v, i) => i !== index && v[0] === row && v[1] === col);
  const lane = index < 0 || taken ? null : laneAt(row, col, state.vehicles[index].slice(2, 4));
  if (!lane) return null;
  const old = state.vehicles[index];
  const vehicles = state.vehicles.map((v, i) => (i === index ? [row, col, ...lane, old[4], old[5]] : v));
  return { ...state, vehicles };
}

/** What a thing is called after it was moved. */
export const renamed = (key, row, col) => (key.startsWith("v") ? `v${row}:${col}` : key);

export function beside(state, key, dr, dc) {
  if (!key.startsWith("v")) return null;
  const [row, col] = key.slice(1).split(":").map(Number);
  return [row + dr, col + dc];
}

/** The state with a junction's light switched. */
export function toggled(state, index) {
  return { ...state, phases: state.phases.map((phase, i) => (i === index ? 1 - phase : phase)) };
}

export function extra(state) {
  const waits = state.vehicles.map((v) => v[4]);
  const mean = waits.length === 0 ? 0 : waits.reduce((a, b) => a + b, 0) / waits.length;
  return ["waiting", mean.toFixed(2)];
}

export const stepsOf = (state) => state.step;
export const ending = (end) => (end === "terminated" ? "Every vehicle has left the city." : "The episode was cut off at its step limit.");
