// A world on the page: its scene, links, wishes, messages that travel. Drag and arrow keys change it.

import { calm, s } from "./dom.js";
import { body, kindOf, origins, read, single } from "./scene.js";
import { openings, starts, way } from "./torus.js";
import { wishes } from "./wishes.js";

/** More links than this, and only the chosen agent's messages are seen to travel. */
const MANY_LINKS = 90;
/** A message travels for half of this time, in milliseconds; rounds follow each other. */
const ROUND = 1300;
/** Fewer things than this can be reached one by one with the keyboard. */
const REACHABLE = 60;
/** A drag asks again after so much of a unit. */
const GRAIN = 0.2;
/** Something that was moved is looked for this near to where it should be. */
const NEAR = 0.8;
/** The part of an agent's place that is filled at least. */
const ROOM = 0.62;
const STEPS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

const words = (key) => key[0].toUpperCase() + key.slice(1);

export class Board {
  /** `changed(state, edit)` hears what was done to a state, `picked(agent)` of chosen agents, `dropped()` of the end of a
   * drag; a board without them is only seen. */
  constructor(svg, { changed, picked, dropped } = {}) {
    Object.assign(this, { svg, changed, picked, dropped, drag: null, held: null, ground: null, scene: null });
    this.turn = s("g", { class: "turn" });
    this.layers = {};
    for (const name of ["ground", "links", "wishes", "things", "messages"]) {
      this.layers[name] = s("g", { class: name });
      this.turn.append(this.layers[name]);
    }
    svg.append(this.turn);
    if (!changed) return;
    const drop = () => {
      if (this.drag) this.dropped();
      this.drag = null;
    };
    svg.addEventListener("pointerdown", (event) => this.grab(event));
    svg.addEventListener("pointermove", (event) => this.pull(event));
    svg.addEventListener("pointerup", drop);
    svg.addEventListener("pointercancel", drop);
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  /** Draws a state. `before` is the scene a step ago, from which things glide within `pace` milliseconds;
   * `waiting` says that more edits are on their way. */
  draw({ state, view, marks, expected, differences, chosen, before, pace, waiting }) {
    const focus = this.focused();
    const scene = read(view.scene);
    Object.assign(this, { state, scene });
    const dark = document.documentElement.dataset.theme === "dark";
    this.paintGround(view.scene, scene, dark);
    const past = before && pace && !calm() ? origins(scene, read(before)) : new Map();
    const glide = (element, from, to) => {
      if (!from || (from[0] === to[0] && from[1] === to[1])) return;
      const start = `translate(${from[0] - to[0]}px, ${from[1] - to[1]}px)`;
      element.animate([{ transform: start }, { transform: "translate(0, 0)" }], { duration: pace, easing: "ease-out" });
    };
    const places = scene.marks.map((mark) => mark.at);
    const wide = 0.07 * Math.sqrt(Math.min(1, ...scene.marks.map((mark) => mark.radius)));
    const links = places.length > 0 ? this.links(view, places) : "";
    this.layers.links.replaceChildren(this.cut(s("path", { class: "link", d: links, "stroke-width": wide })));

    const wanted = scene.marks.map(({ at, radius }, i) => {
      const off = differences?.[i] ?? 0;
      const parts = wishes(view.probabilities[i], marks, radius);
      // Where the policy does not turn, what it should have wanted is drawn, too.
      if (expected && off > 1e-3) parts.push(...wishes(expected[i], marks, radius, view.probabilities[i]));
      const inner = s("g", {}, parts);
      const body = scene.bodies[i];
      if (body) glide(inner, past.get(body.key), body.at);
      return s("g", { class: off > 1e-5 ? "wants off" : "wants", transform: `translate(${at[0]} ${at[1]})` }, inner);
    });
    this.layers.wishes.replaceChildren(...wanted);

    const reachable = this.changed && scene.things.length <= REACHABLE;
    const passed = [];
    const things = scene.above.map(({ item, thing }) => {
      if (item) {
        passed.push(item);
        return single(item, passed.slice(0, -1), dark);
      }
      const group = this.thing(thing, reachable, dark, { chosen, off: differences?.[thing.agent] ?? 0 });
      glide(group, past.get(thing.key), thing.at);
      passed.push(...thing.items);
      return group;
    });
    this.layers.things.replaceChildren(...things);
    this.messages(view, scene.marks, chosen);
    this.refocus(focus);
    if (!waiting) this.held = null;
  }

  /** What never changes is drawn once. */
  paintGround(whole, scene, dark) {
    const key = JSON.stringify([whole.size, dark, scene.ground]);
    if (this.ground === key) return;
    this.ground = key;
    this.svg.setAttribute("viewBox", `0 0 ${whole.size.join(" ")}`);
    const items = scene.ground.map(({ item }) => item);
    const edges = scene.torus ? [openings(scene.torus, whole.size)] : [];
    this.layers.ground.replaceChildren(...items.map((item, i) => single(item, items.slice(Math.max(0, i - 60), i), dark)), ...edges);
  }

  /** What leads across an edge ends where the picture does. */
  cut(...elements) {
    const { torus, size: [width, height] } = this.scene;
    return torus ? s("svg", { width, height, overflow: "hidden" }, elements) : s("g", {}, elements);
  }

  /** Something that can be held, or an agent. */
  thing(thing, reachable, dark, { chosen, off }) {
    const { handle, agent } = thing;
    const holds = this.changed && (handle || agent !== null);
    const names = ["thing", agent !== null ? "agent" : null, agent !== null && agent === chosen ? "chosen" : null,
      holds && handle?.drag ? "drags" : holds ? "presses" : null];
    const what = handle?.drag ? "; arrow keys move it" : handle?.press ? "; Enter presses it" : "";
    const label = `${thing.title ?? words(thing.key)}${what}${agent !== null && !handle?.press ? "; Enter chooses it" : ""}`;
    const reach = holds && (reachable || (agent !== null && this.scene.marks.length <= REACHABLE))
      ? { tabindex: 0, role: "button", "aria-label": label } : {};
    const group = s("g", { class: names.filter(Boolean).join(" "), "data-key": thing.key, "data-agent": agent, ...reach });
    if (agent !== null) {
      const { at: [cx, cy], radius } = this.scene.marks[agent];
      if (thing.items.length === 0) group.append(s("circle", { class: "place", cx, cy, r: radius }));
      if (off > 1e-5) {
        const opacity = Math.min(1, 0.35 + Math.log10(off / 1e-5) / 6);
        group.append(s("circle", { class: "halo", cx, cy, r: radius * 1.12, "stroke-width": 0.15 * radius, opacity }));
      }
      if (agent === chosen) {
        const dashes = { "stroke-width": 0.085 * radius, "stroke-dasharray": `${0.23 * radius} ${0.16 * radius}` };
        group.append(s("circle", { class: "choice", cx, cy, r: radius, ...dashes }));
      }
    }
    group.append(s("g", { transform: this.larger(thing) }, body(thing, dark)));
    if (reach.role) {
      const [left, top, right, bottom] = thing.box;
      const room = 0.06 * Math.max(right - left, bottom - top);
      group.append(s("rect", { class: "focus", x: left - room, y: top - room, width: right - left + 2 * room, height: bottom - top + 2 * room, rx: room }));
    }
    return group;
  }

  /** An agent that is drawn small in its place, as a number between lanes, is drawn larger here: the page has the room. */
  larger({ agent, handle, box: [left, top, right, bottom], at: [x, y] }) {
    if (agent === null || handle) return null;
    const part = Math.max(right - left, bottom - top) / 2 / this.scene.marks[agent].radius;
    return part < ROOM ? `translate(${x} ${y}) scale(${ROOM / part}) translate(${-x} ${-y})` : null;
  }

  /** Shows how this board comes from the one beside it. `matrix` acts on (row, column) differences. */
  spin(matrix) {
    if (calm() || !matrix) return;
    const [[a, b], [c, d]] = matrix;
    // The way back, in x and y, is where the movement starts.
    const from = `matrix(${d}, ${c}, ${b}, ${a}, 0, 0)`;
    this.turn.animate([{ transform: from }, { transform: "matrix(1, 0, 0, 1, 0, 0)" }], { duration: 620, easing: "cubic-bezier(.3, 0, .1, 1)" });
  }

  links(view, places) {
    const { torus } = this.scene;
    const one = ([to, from]) => {
      if (from <= to || !places[from]) return "";
      const [dx, dy] = way(torus, places[to], places[from]);
      return starts(torus, places[to], places[from]).map(([x, y]) => `M${x} ${y}l${dx} ${dy}`).join("");
    };
    return view.central ? "" : view.edges.map(one).join("");
  }

  /** Dots that run from whoever sends to whoever hears, round after round; larger for stronger features. */
  messages(view, marks, chosen) {
    // Things that do not act are heard, too, but have no place of their own here.
    const heard = view.edges.filter(([to, from]) => marks[to] && marks[from]);
    const edges = heard.length > MANY_LINKS ? heard.filter(([to]) => to === chosen) : heard;
    if (calm() || view.central || view.rounds.length === 0) return this.layers.messages.replaceChildren();
    const strongest = view.rounds.map((row) => Math.max(1e-9, ...row));
    const period = ROUND * view.rounds.length;
    const { torus } = this.scene;
    const ways = edges.flatMap(([to, from]) => {
      const [start, end] = [marks[from].at, marks[to].at];
      return starts(torus, start, end).map((at) => ({ from, at, by: way(torus, start, end) }));
    });
    const dots = ways.flatMap(({ from, at: place, by }) => view.rounds.map((row, l) => {
      const unit = marks[from].radius / 0.44;
      const dot = s("circle", { class: `message round${l}`, r: unit * (0.035 + 0.045 * (row[from] / strongest[l])) });
      const at = (k, opacity, offset) => {
        const [x, y] = [0, 1].map((axis) => place[axis] + k * by[axis]);
        return { transform: `translate(${x}px, ${y}px)`, opacity, offset };
      };
      const [start, end] = [l / view.rounds.length, (l + 0.7) / view.rounds.length];
      const frames = [at(0.18, 0, start), at(0.28, 1, start + 0.1 * (end - start)), at(0.72, 1, end - 0.1 * (end - start)), at(0.82, 0, end)];
      if (start > 0) frames.unshift(at(0.18, 0, 0));
      frames.push(at(0.82, 0, 1));
      // One clock for all, so that drawing again does not start again.
      dot.animate(frames, { duration: period, iterations: Infinity }).startTime = 0;
      return dot;
    }));
    this.layers.messages.replaceChildren(this.cut(...dots));
  }

  // Changing it by hand

  find(element) {
    const group = element.closest?.("[data-key]");
    return group ? this.scene.things.find((thing) => thing.key === group.dataset.key) : null;
  }

  point(event) {
    const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.turn.getScreenCTM().inverse());
    return [x, y];
  }

  grab(event) {
    const thing = this.find(event.target);
    if (!thing) return;
    event.preventDefault();
    event.target.closest("[data-key]").focus?.();
    if (thing.agent !== null) this.picked(thing.agent);
    if (thing.handle?.drag) {
      // An id means the thing in this state, so every edit of the drag is one of this state.
      const start = this.point(event);
      this.drag = { id: thing.handle.id, state: this.state, from: thing.at, start, last: start };
      this.svg.setPointerCapture(event.pointerId);
    } else if (thing.handle?.press) {
      this.changed(this.state, { id: thing.handle.id });
    }
  }

  pull(event) {
    if (!this.drag) return;
    const { id, state, from, start, last } = this.drag;
    const now = this.point(event);
    if (Math.hypot(now[0] - last[0], now[1] - last[1]) < GRAIN) return;
    this.drag.last = now;
    this.move(state, id, [0, 1].map((k) => from[k] + now[k] - start[k]));
  }

  move(state, id, to) {
    this.held = { id, state, to };
    this.changed(state, { id, to });
  }

  key(event) {
    const thing = this.find(event.target);
    if (!thing) return;
    const step = STEPS[event.key];
    if (step && thing.handle?.drag) {
      event.preventDefault();
      // The next key may come before the answer to the last one.
      const same = this.held?.id === thing.handle.id ? this.held : { state: this.state, to: thing.at };
      this.move(same.state, thing.handle.id, [0, 1].map((k) => same.to[k] + step[k]));
    } else if ((event.key === "Enter" || event.key === " ") && (thing.agent !== null || thing.handle?.press)) {
      event.preventDefault();
      if (thing.agent !== null) this.picked(thing.agent);
      if (thing.handle?.press) this.changed(this.state, { id: thing.handle.id });
    }
  }

  /** An edit was refused: the thing is still where it was. */
  refused() {
    this.held = null;
  }

  focused() {
    return this.svg.contains(document.activeElement) ? document.activeElement.dataset.key ?? null : null;
  }

  /** The focus stays on the same thing, which may have another id after it was moved. */
  refocus(key) {
    if (key === null) return;
    const { held } = this;
    const way = (thing) => Math.hypot(thing.at[0] - held.to[0], thing.at[1] - held.to[1]);
    const near = held?.id === key
      ? this.scene.things.filter((thing) => thing.kind === kindOf(key)).sort((a, b) => way(a) - way(b))[0]
      : null;
    const wanted = near && way(near) <= NEAR ? near.key : key;
    this.svg.querySelector(`[data-key="${CSS.escape(wanted)}"][tabindex]`)?.focus();
  }
}
