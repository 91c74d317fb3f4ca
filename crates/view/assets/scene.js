// Any world's picture: shapes as SVG elements, and which of them belong together. Nothing here knows a world.
//
// Shapes with the same handle are one thing that can be moved or pressed. Shapes without one that stand where an agent
// stands are that agent. All others are ground.

import { s } from "./dom.js";
import { apart, onDark, vivid } from "./paint.js";
import { way } from "./torus.js";

/** The height of a capital letter in a font of size 1. */
const CAPITAL = 0.72;
/** Thinner lines are hard to hit, so what can be held gets a wider one that is not seen. */
const HIT = 0.9;
/** How far back a label looks for what it is written on. */
const BEHIND = 60;
/** How far something may have moved in one step, in units of the scene. */
const REACH = 1.5;
/** A colour may change a little in a step; by 1 / SHADE, that is as unlikely as a step of one unit. */
const SHADE = 15;

/** The corners of a shape's box. */
function box({ rect, circle, polygon, line, label }) {
  if (rect) return [...rect.corner, rect.corner[0] + rect.size[0], rect.corner[1] + rect.size[1]];
  const around = ([x, y], dx, dy) => [x - dx, y - dy, x + dx, y + dy];
  if (circle) return around(circle.centre, circle.radius, circle.radius);
  if (label) return around(label.centre, 0.35 * label.height * label.text.length, label.height / 2);
  const points = polygon ?? [line.from, line.to];
  const side = (pick, axis) => pick(...points.map((p) => p[axis]));
  return [side(Math.min, 0), side(Math.min, 1), side(Math.max, 0), side(Math.max, 1)];
}

const hull = (a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
const middle = ([a, b, c, d]) => [(a + c) / 2, (b + d) / 2];
const far = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);

/** The agent whose mark a box fills, or nothing. */
function agentAt(marks, [left, top, right, bottom]) {
  const at = middle([left, top, right, bottom]), half = Math.max(right - left, bottom - top) / 2;
  const found = marks.findIndex((mark) => far(mark.at, at) <= 0.25 * mark.radius && half <= 1.15 * mark.radius);
  return found < 0 ? null : found;
}

/** What a handle's things are called without their number. */
export const kindOf = (id) => id.replace(/ \d+$/, "");

/** A scene's shapes, sorted: `ground` below everything, `above` in its order as single shapes and things. */
export function read(scene) {
  const marks = scene.agents ?? [];
  const things = new Map();
  const ground = [], above = [];
  for (const item of scene.items) {
    // Who hears whom is drawn from what the policy hears.
    if (item.name === "link" && marks.length > 0) continue;
    const own = box(item.shape);
    const agent = item.handle ? null : agentAt(marks, own);
    if (!item.handle && agent === null) {
      (above.length > 0 ? above : ground).push({ item });
      continue;
    }
    const key = item.handle ? item.handle.id : `agent ${agent}`;
    let thing = things.get(key);
    if (!thing) {
      thing = { key, kind: kindOf(key), handle: item.handle ?? null, items: [], box: own, title: null, agent: null };
      things.set(key, thing);
      above.push({ thing });
    }
    thing.items.push(item);
    thing.box = hull(thing.box, own);
    thing.title ??= item.title ?? null;
  }
  const bodies = [];
  for (const thing of things.values()) {
    thing.at = middle(thing.box);
    // Of several things in one place the topmost is the agent.
    const agent = agentAt(marks, thing.box);
    if (agent !== null) bodies[agent] = thing;
    thing.face = face(thing);
  }
  // From far away an agent may have no shape of its own; its place can still be chosen.
  marks.forEach(({ at: [x, y], radius }, agent) => {
    if (bodies[agent]) return;
    const key = `agent ${agent}`;
    const thing = { key, kind: "agent", handle: null, items: [], box: [x - radius, y - radius, x + radius, y + radius], title: null, face: "", at: [x, y] };
    bodies[agent] = thing;
    things.set(key, thing);
    above.push({ thing });
  });
  bodies.forEach((thing, agent) => (thing.agent = agent));
  return { size: scene.size, torus: scene.torus ?? null, marks, ground, above, things: [...things.values()], bodies };
}

/** What an agent is called: as its own title begins, if that has its number. */
export function nameOf(read, agent) {
  const found = read.bodies[agent]?.title?.match(/^(\p{L}[\p{L} -]*) (\d+)\b/u);
  return found && Number(found[2]) === agent ? found[0] : `Agent ${agent}`;
}

/** What a thing looks like wherever it is: its first shape, and what is written on it. */
function face({ items, at: [x, y] }) {
  const from = ([px, py]) => [px - x, py - y].map((v) => Math.round(10 * v));
  const first = items[0].shape.polygon?.map(from) ?? "";
  return JSON.stringify([first, items.map((item) => item.shape.label?.text).filter(Boolean)]);
}

const colour = (thing) => thing.items[0]?.fill ?? "#000000";

/** Where each thing was a step ago: the nearest of its kind that looks alike, if it is near enough; beyond the edge, if it
 * came across one. Ids do not tell: where things come and go, the same id may be another thing. */
export function origins(now, before) {
  const pairs = [];
  for (const thing of now.things) {
    for (const old of before.things) {
      const by = way(now.torus, old.at, thing.at), long = Math.hypot(...by);
      if (old.kind !== thing.kind || long > REACH) continue;
      const unlike = (old.face === thing.face ? 0 : 2 * REACH * REACH) + SHADE * apart(colour(old), colour(thing));
      pairs.push({ thing, old, by, cost: long * long + unlike });
    }
  }
  pairs.sort((a, b) => a.cost - b.cost);
  const found = new Map(), taken = new Set();
  for (const { thing, old, by } of pairs) {
    if (found.has(thing.key) || taken.has(old.key)) continue;
    found.set(thing.key, [0, 1].map((k) => thing.at[k] - by[k]));
    taken.add(old.key);
  }
  return found;
}

/** A shape as an element. `paint` says which colour a colour is on this paper. */
function element({ name, shape, fill, rim, title }, paint) {
  const { rect, circle, polygon, line, label } = shape;
  const look = { "data-name": name };
  if (line) Object.assign(look, { stroke: paint(fill), "stroke-width": line.width, "stroke-linecap": "round", fill: "none" });
  else Object.assign(look, { fill: paint(fill) }, rim && !label ? { stroke: paint(rim[0]), "stroke-width": rim[1], "stroke-linejoin": "round" } : {});
  const words = title ? s("title", {}, title) : null;
  if (rect) return s("rect", { ...look, x: rect.corner[0], y: rect.corner[1], width: rect.size[0], height: rect.size[1], rx: rect.radius }, words);
  if (circle) return s("circle", { ...look, cx: circle.centre[0], cy: circle.centre[1], r: circle.radius }, words);
  if (polygon) return s("polygon", { ...look, points: polygon.map((p) => p.join()).join(" ") }, words);
  if (line) return s("line", { ...look, x1: line.from[0], y1: line.from[1], x2: line.to[0], y2: line.to[1] }, words);
  const [x, y] = label.centre;
  return s("text", { ...look, class: "label", x, y: y + label.height / 2, "font-size": label.height / CAPITAL }, label.text);
}

const same = (colour) => colour;

/** All of a thing's shapes; with a wider area to hit if it can be held. */
export function body(thing, dark) {
  // Something with a colour of its own keeps all its colours: white on blue stays white on blue.
  const coloured = thing.items.some(({ shape, fill }) => !shape.label && vivid(fill) > 0.5);
  const paint = dark && !coloured ? onDark : dark ? (colour) => (vivid(colour) > 0.5 ? onDark(colour) : colour) : same;
  const shapes = thing.items.map((item) => element(item, paint));
  if (!thing.handle) return shapes;
  const thin = thing.items.filter(({ shape }) => shape.line && shape.line.width < HIT);
  const wide = thin.map(({ shape: { line } }) =>
    s("line", { class: "hit", x1: line.from[0], y1: line.from[1], x2: line.to[0], y2: line.to[1], "stroke-width": HIT }));
  return [...wide, ...shapes];
}

/** A single shape. A label on something with a colour keeps its own. */
export function single(item, before, dark) {
  if (!dark) return element(item, same);
  if (!item.shape.label) return element(item, onDark);
  const [x, y] = item.shape.label.centre;
  const under = before.slice(-BEHIND).reverse().find(({ shape }) => {
    const [left, top, right, bottom] = box(shape);
    return !shape.label && !shape.line && left <= x && x <= right && top <= y && y <= bottom;
  });
  return element(item, under && vivid(under.fill) > 0.5 ? same : onDark);
}
