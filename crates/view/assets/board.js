// A world on the page: ground, links, wishes, things that move, messages that travel. Drag and arrow keys change it.

import { calm, s } from "./dom.js";

const MARGIN = 0.45;
/** More links than this, and only the chosen agent's messages are seen to travel. */
const MANY_LINKS = 90;
/** A message travels for half of this time, in milliseconds; rounds follow each other. */
const ROUND = 1300;
/** Fewer things than this can be reached one by one with the keyboard. */
const REACHABLE = 60;

export class Board {
  /** `changed(state)` hears of edits, `picked(agent)` of chosen agents; a board without them is only seen. */
  constructor(svg, { changed, picked } = {}) {
    Object.assign(this, { svg, changed, picked, drag: null, ground: null });
    this.turn = s("g", { class: "turn" });
    this.layers = {};
    for (const name of ["ground", "under", "links", "wishes", "others", "agents", "messages"]) {
      this.layers[name] = s("g", { class: name });
      this.turn.append(this.layers[name]);
    }
    svg.append(this.turn);
    if (!changed) return;
    svg.addEventListener("pointerdown", (event) => this.grab(event));
    svg.addEventListener("pointermove", (event) => this.pull(event));
    svg.addEventListener("pointerup", () => (this.drag = null));
    svg.addEventListener("pointercancel", () => (this.drag = null));
    svg.addEventListener("keydown", (event) => this.key(event));
  }

  /** Draws a state. `before` is the state a step ago, from which things glide within `pace` milliseconds. */
  draw({ world, state, view, expected, differences, chosen, before, pace }) {
    Object.assign(this, { world, state });
    const focus = this.svg.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const [width, height] = world.extent(state);
    const size = `${state.world} ${width} ${height}`;
    if (this.ground !== size) {
      this.svg.setAttribute("viewBox", `${-MARGIN} ${-MARGIN} ${width + 2 * MARGIN} ${height + 2 * MARGIN}`);
      this.svg.dataset.world = state.world;
      this.layers.ground.replaceChildren(...world.ground(state));
      this.ground = size;
    }
    const places = world.places(state);
    const past = before && before.world === state.world ? world.places(before) : null;
    const glide = (element, from, to) => {
      const far = from && Math.hypot(from[0] - to[0], from[1] - to[1]);
      if (!far || far > 1.5 || !pace || calm()) return;
      const at = ([x, y]) => ({ transform: `translate(${x}px, ${y}px)` });
      element.animate([at(from), at(to)], { duration: pace, easing: "ease-out" });
    };
    const put = (at, attributes, ...children) => s("g", { transform: `translate(${at[0]} ${at[1]})`, ...attributes }, ...children);

    this.layers.under.replaceChildren(...(world.under ? world.under(state) : []));
    this.layers.links.replaceChildren(s("path", { class: "link", d: this.links(view, places) }));

    const wishes = view.probabilities.map((row, i) => {
      const off = differences?.[i] ?? 0;
      const parts = world.wishes(row);
      // Where the policy does not turn, what it should have wanted is drawn, too.
      if (expected && off > 1e-3) parts.push(...world.wishes(expected[i], "ghost"));
      const group = put(places[i], { class: off > 1e-5 ? "wants off" : "wants" }, parts);
      glide(group, past?.[i], places[i]);
      return group;
    });
    this.layers.wishes.replaceChildren(...wishes);

    const things = world.others(state);
    const edits = this.changed && things.length <= REACHABLE;
    const others = things.map((thing) => {
      const reach = edits ? { tabindex: 0, role: "button", "aria-label": `${thing.label}; arrow keys move it` } : {};
      const group = put(thing.at, { class: "thing", "data-key": thing.key, ...reach }, thing.shape);
      const from = thing.came ? thing.came(before) : this.wasAt(before, thing.key);
      glide(group, from, thing.at);
      return group;
    });
    this.layers.others.replaceChildren(...others);

    const agents = places.map((at, i) => {
      const off = differences?.[i] ?? 0;
      const reach = this.changed && places.length <= REACHABLE
        ? { tabindex: 0, role: "button", "aria-label": world.label(state, i) }
        : {};
      const group = put(at, { class: i === chosen ? "agent chosen" : "agent", "data-key": i, "data-agent": i, ...reach });
      const radius = state.world === "traffic" ? 1 : 0.44;
      if (off > 1e-5) {
        group.append(s("circle", { class: "halo", r: radius * 1.12, opacity: Math.min(1, 0.35 + Math.log10(off / 1e-5) / 6) }));
      }
      if (i === chosen) group.append(s("circle", { class: "choice", r: radius }));
      group.append(...world.body(i));
      glide(group, past?.[i], at);
      return group;
    });
    if (world.toggled(state, 0) && this.changed) agents.unshift(...this.switches(places));
    this.layers.agents.replaceChildren(...agents);
    this.messages(view, places, chosen);
    if (focus !== null && focus !== undefined) this.svg.querySelector(`[data-key="${CSS.escape(focus)}"][tabindex]`)?.focus();
  }

  /** Shows how this board comes from the one beside it. `matrix` acts on (row, column) differences. */
  spin(matrix) {
    if (calm()) return;
    const [[a, b], [c, d]] = matrix;
    // The way back, in x and y, is where the movement starts.
    const from = `matrix(${d}, ${c}, ${b}, ${a}, 0, 0)`;
    this.turn.animate([{ transform: from }, { transform: "matrix(1, 0, 0, 1, 0, 0)" }], { duration: 620, easing: "cubic-bezier(.3, 0, .1, 1)" });
  }

  wasAt(before, key) {
    if (!before || before.world !== this.state.world || !this.world.others) return null;
    return this.world.others(before).find((thing) => thing.key === key)?.at ?? null;
  }

  links(view, places) {
    const one = ([to, from]) => (from > to ? `M${places[to].join(" ")}L${places[from].join(" ")}` : "");
    return view.central ? "" : view.edges.map(one).join("");
  }

  /** Dots that run from whoever sends to whoever hears, round after round; larger for stronger features. */
  messages(view, places, chosen) {
    const edges = view.edges.length > MANY_LINKS ? view.edges.filter(([to]) => to === chosen) : view.edges;
    if (calm() || view.central || view.rounds.length === 0) return this.layers.messages.replaceChildren();
    const unit = this.state.world === "traffic" ? 2.2 : 1;
    const strongest = view.rounds.map((row) => Math.max(1e-9, ...row));
    const period = ROUND * view.rounds.length;
    const dots = edges.flatMap(([to, from]) => view.rounds.map((row, l) => {
      const dot = s("circle", { class: `message round${l}`, r: unit * (0.035 + 0.045 * (row[from] / strongest[l])) });
      const at = (k, opacity, offset) => {
        const [x, y] = [0, 1].map((axis) => places[from][axis] + k * (places[to][axis] - places[from][axis]));
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
    this.layers.messages.replaceChildren(...dots);
  }

  /** Places to click on for switching a junction's light. */
  switches(places) {
    return places.flatMap(([x, y], i) => [[-1.6, -1], [-1, 1.6], [1.6, 1], [1, -1.6]].map(([dx, dy]) =>
      s("circle", { class: "switchable", cx: x + dx, cy: y + dy, r: 0.55, "data-switch": i })));
  }

  cell(event) {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(this.turn.getScreenCTM().inverse());
    return [Math.floor(point.y), Math.floor(point.x)];
  }

  grab(event) {
    const light = event.target.closest("[data-switch]");
    if (light) return this.changed(this.world.toggled(this.state, Number(light.dataset.switch)));
    const group = event.target.closest("[data-key]");
    if (!group) return;
    event.preventDefault();
    group.focus?.();
    if (group.dataset.agent) this.picked(Number(group.dataset.agent));
    this.drag = { key: group.dataset.key, cell: this.cell(event) };
    this.svg.setPointerCapture(event.pointerId);
  }

  pull(event) {
    if (!this.drag) return;
    const [row, col] = this.cell(event);
    if (row === this.drag.cell[0] && col === this.drag.cell[1]) return;
    this.drag.cell = [row, col];
    this.move(this.drag.key, row, col);
  }

  move(key, row, col) {
    const state = this.world.moved(this.state, key, row, col);
    if (!state) return false;
    const name = this.world.renamed?.(key, row, col) ?? key;
    if (this.drag) this.drag.key = name;
    const group = this.svg.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (group) group.dataset.key = name;
    // The next move may come before the server answers.
    this.state = state;
    this.changed(state);
    return true;
  }

  key(event) {
    const group = event.target.closest("[data-key]");
    if (!group) return;
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (steps[event.key]) {
      event.preventDefault();
      const cell = this.world.beside(this.state, group.dataset.key, ...steps[event.key]);
      if (cell) this.move(group.dataset.key, ...cell);
    } else if (event.key === "Enter" && group.dataset.agent) {
      event.preventDefault();
      const agent = Number(group.dataset.agent);
      this.picked(agent);
      const state = this.world.toggled(this.state, agent);
      if (state) this.changed(state);
    }
  }
}
