// Episodes and symmetry: one world on the left, its turned twin on the right. This page holds the state; the server
// answers what the policy says of it.

import { $, difference, h, number, s, say } from "./dom.js";
import { ask } from "./talk.js";
import { Board } from "./board.js";
import * as details from "./details.js";
import * as traffic from "./traffic.js";
import * as wildlife from "./wildlife.js";

const WORLDS = { wildlife, traffic };
const PACES = [0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 18, 24];
/** Differences below are rounding: the tolerance of `equimarl check network`. */
const ROUNDING = 1e-5;
const HISTORY = 600;

const now = {
  list: [], model: null, mode: "symmetry", element: "r", agent: 0, episode: 0,
  answer: null, total: 0, end: "running", history: [], playing: false, edited: false,
};
const here = new Board(document.querySelector("#here svg"), { changed: edit, picked });
const there = new Board(document.querySelector("#there svg"));

const kindOf = (model) => (model.method.endsWith("equivariant") ? "equivariant" : "plain");
const worldOf = (model) => model.world.split("-")[0];
const current = () => now.list.find((model) => model.id === now.model);
const world = () => WORLDS[now.answer.state.world];
const twinned = () => now.mode === "symmetry";

// Which team

/** Hears which models there are. */
export function models(list) {
  const gone = now.model !== null && !list.some((model) => model.id === now.model);
  const before = current();
  now.list = list;
  const select = $("model");
  const option = (model) => h("option", { value: model.id }, model.fresh ? `${worldOf(model)}, ${model.name}` : `${model.name} (${model.world}, ${model.method})`);
  const part = (label, models) => (models.length > 0 ? h("optgroup", { label }, models.map(option)) : null);
  const parts = [part("Trained", list.filter((m) => !m.fresh)), part("Untrained, random weights", list.filter((m) => m.fresh))];
  const text = JSON.stringify(list);
  if (select.dataset.list !== text) {
    select.replaceChildren(...parts.filter(Boolean));
    select.dataset.list = text;
  }
  if (gone) {
    pause();
    choose(nearest(before, kindOf(before)) ?? list[0]);
    // Said last, because every answer takes the last problem away.
    queue(() => problem(`${before.name} was deleted; another team plays now.`));
  } else if (now.model === null) {
    const trained = list.filter((m) => !m.fresh);
    const equivariant = trained.filter((m) => m.method === "equivariant");
    const first = equivariant.find((m) => worldOf(m) === "wildlife") ?? equivariant[0] ?? trained[0] ?? list[0];
    if (first) choose(first);
  } else {
    select.value = now.model;
  }
}

/** The team of a kind that is most like another one: same world, trained or not, same size, most alike in name. */
function nearest(model, kind) {
  const alike = (a, b) => [...a].findIndex((letter, i) => letter !== b[i]) & 255;
  const score = (m) => (m.fresh === model.fresh ? 4e4 : 0) + (m.world === model.world ? 2e4 : 0) + (m.method.startsWith("central") ? 0 : 1e4) + alike(m.name, model.name);
  return now.list.filter((m) => worldOf(m) === worldOf(model) && kindOf(m) === kind).sort((a, b) => score(b) - score(a))[0];
}

/** Plays another team: in the same state if it is of the same world. */
export function choose(model) {
  const old = current();
  const same = old && now.answer && worldOf(old) === worldOf(model);
  now.model = model.id;
  $("model").value = model.id;
  if (!same) {
    const [name, size] = model.world.split("-");
    if (name === "wildlife") $("drones").value = size;
    else [$("rows").value, $("cols").value] = size.split("x");
  }
  for (const name of Object.keys(WORLDS)) {
    for (const label of document.querySelectorAll(`.setup .${name}`)) label.hidden = name !== worldOf(model);
  }
  for (const kind of ["equivariant", "plain"]) {
    $(kind).setAttribute("aria-pressed", String(kindOf(model) === kind));
    $(kind).disabled = !nearest(model, kind);
  }
  if (same) queue(() => look(now.answer.state).catch(() => begin()));
  else queue(begin);
}

function swap(kind) {
  const model = nearest(current(), kind);
  if (model && kindOf(current()) !== kind) choose(model);
}

// Talking to the server, one question at a time

let line = Promise.resolve(), waiting = 0;
/** Does something after everything before it. */
function queue(job) {
  waiting += 1;
  document.body.dataset.busy = "yes";
  line = line.then(job).catch((error) => problem(error.message)).finally(() => {
    waiting -= 1;
    if (waiting === 0) document.body.dataset.busy = "no";
  });
  return line;
}

function problem(text) {
  $("problem").hidden = !text;
  say($("problem"), text);
  if (text) pause();
}

function question(more) {
  const size = worldOf(current()) === "wildlife"
    ? { drones: Number($("drones").value) }
    : { rows: Number($("rows").value), cols: Number($("cols").value) };
  return {
    model: now.model, size, seed: Number($("seed").value), episode: now.episode, greedy: $("greedy").checked,
    pictures: details.shown(now.answer?.here, now.agent), ...(twinned() ? { element: now.element } : {}), ...more,
  };
}

async function begin() {
  now.agent = 0;
  now.answer = null;
  // Which turns there are depends on the world: a city that is not square has half turns only.
  const answer = await ask("/api/episode", question({ element: undefined }));
  const names = answer.elements.map((e) => e.name);
  if (!names.includes(now.element)) now.element = names[1] ?? names[0];
  Object.assign(now, { answer, total: 0, end: "running", history: [], edited: false });
  problem("");
  if (!twinned()) return draw();
  // An empty city has nothing to show; beside a twin, it begins where there is something to compare.
  for (let k = 0; k < (world().opening ?? 0); k++) await step(0, false);
  return look(now.answer.state);
}

/** Asks what the policy says of a state. */
async function look(state) {
  const before = performance.now();
  now.answer = await ask("/api/episode", question({ state, streams: now.answer.streams }));
  problem("");
  draw();
  // From the question to the drawn answer, in milliseconds.
  document.body.dataset.latency = String(Math.round(performance.now() - before));
}

async function step(pace, shown = true) {
  if (now.end !== "running" || !now.answer) return;
  const { answer: before, total, end } = now;
  const answer = await ask("/api/episode", question({ state: before.state, streams: before.streams, step: true }));
  now.history.push({ answer: before, total, end });
  if (now.history.length > HISTORY) now.history.shift();
  Object.assign(now, { answer, total: total + answer.reward, end: answer.end });
  if (shown) draw(before.state, pace);
}

function back() {
  const last = now.history.pop();
  if (!last) return;
  Object.assign(now, last);
  // What it was asked with may have changed meanwhile: the team, the turn.
  queue(() => look(now.answer.state));
}

let wanted = null;
/** Somebody moved something. Only the last of several quick edits is asked for. */
function edit(state) {
  if (wanted === null) {
    queue(() => {
      const latest = wanted;
      wanted = null;
      now.edited = true;
      now.end = "running";
      return look(latest);
    });
  }
  wanted = state;
}

function picked(agent) {
  if (agent === now.agent) return;
  now.agent = agent;
  queue(() => look(wanted ?? now.answer.state));
}

// Playing

const pace = () => 1000 / PACES[Number($("speed").value)];

async function play() {
  if (now.end !== "running") await queue(begin);
  now.playing = true;
  transport();
  while (now.playing && now.end === "running") {
    const start = performance.now();
    await queue(() => step(Math.min(260, 0.8 * pace())));
    await new Promise((done) => setTimeout(done, Math.max(0, pace() - (performance.now() - start))));
  }
  pause();
}

function pause() {
  now.playing = false;
  transport();
}

function transport() {
  say($("play"), now.playing ? "Pause" : "Play");
  $("play").setAttribute("aria-pressed", String(now.playing));
  say($("pace"), `${PACES[Number($("speed").value)]} steps/s`);
}

// Drawing

function draw(before, glide) {
  const { answer } = now;
  const { here: view, twin, state } = answer;
  $("here").querySelector("figcaption .muted").textContent =
    state.world === "traffic" ? "drag a vehicle, click a light" : "drag a drone or the poacher";
  here.draw({ world: world(), state, view, chosen: now.agent, before, pace: glide });
  if (twin) {
    const off = [];
    twin.agents.forEach((image, i) => (off[image] = Math.max(...twin.differences[i])));
    there.draw({ world: world(), state: twin.state, view: twin, expected: twin.expected, differences: off, chosen: twin.agents[now.agent] });
  }
  verdict();
  say($("steps"), String(world().stepsOf(state)));
  say($("total"), number(now.total, Math.abs(now.total) < 1 ? 3 : 2));
  say($("value"), number(view.value, 3));
  const extra = world().extra(state);
  say($("extra-name"), extra?.[0] ?? "");
  say($("extra"), extra?.[1] ?? "");
  $("ending").hidden = now.end === "running";
  if (now.end !== "running") say($("ending"), `${world().ending(now.end)} The return is ${number(now.total, 3)}. Play begins a new episode.`);
  details.agents($("agents"), { world: world(), here: view, twin, chosen: now.agent, picked });
  const agents = view.probabilities.length;
  say($("agents-note"), agents > 9 ? `${agents} agents; here the chosen one and those that it hears. Click another one in the world.` : "");
  details.features($("features"), $("inside-note"), { here: view, twin, agent: now.agent });
}

function elements() {
  const { elements: list } = now.answer;
  const box = $("elements");
  const key = JSON.stringify([list, now.element]);
  if (box.dataset.key === key) return;
  box.dataset.key = key;
  const glyph = ([[a, b], [c, d]]) => s("svg", { viewBox: "-12 -12 24 24", "aria-hidden": true },
    s("path", { d: "M-5 8V-8H5M-5-1H3", transform: `matrix(${d} ${b} ${c} ${a} 0 0)` }));
  const buttons = list.map((element) => h("button", {
    type: "button", class: element.built_in ? "element" : "element foreign", title: element.words, "data-element": element.name,
    "aria-label": `${element.name}: ${element.words}`, "aria-pressed": String(element.name === now.element),
    onclick: () => turn(element.name),
  }, glyph(element.matrix), h("span", {}, element.name)));
  const focused = box.contains(document.activeElement);
  box.replaceChildren(...buttons);
  if (focused) box.querySelector("[aria-pressed=true]")?.focus();
}

function turn(name) {
  now.element = name;
  queue(async () => {
    await look(now.answer.state);
    there.spin(now.answer.elements.find((e) => e.name === name).matrix);
  });
}

function verdict() {
  const { twin } = now.answer;
  elements();
  if (!twin) return;
  const element = now.answer.elements.find((e) => e.name === twin.element);
  say($("word"), element.words);
  const holds = twin.difference < ROUNDING && twin.value_difference < ROUNDING;
  const box = $("verdict");
  box.dataset.holds = holds ? "yes" : "no";
  box.dataset.difference = String(twin.difference);
  say($("difference"), difference(twin.difference));
  say($("value-difference"), difference(twin.value_difference));
  const identity = element.matrix.flat().join() === "1,0,0,1";
  let text = "It turns with the world. What is left is rounding.";
  if (identity) text = "Nothing was turned, so nothing can differ.";
  else if (!holds && kindOf(current()) === "equivariant" && !element.built_in) text = "It breaks: this turn is not built into the network.";
  else if (!holds) text = "It breaks: turned, the same situation gets another answer.";
  say($("judgement"), text);
  if (!now.playing) say($("spoken"), `Largest difference ${difference(twin.difference)}. ${text}`);
}

const SUBTITLES = {
  symmetry: "On the left a state, on the right the same state turned. The network looks at both by itself. If the symmetry is built in, every arrow turns along, and the number is zero up to rounding.",
  episode: "Arrows and bars are probabilities; dots are messages between agents that hear each other, round after round. Drag anything and see the policy change its mind.",
};

/** Shows one of the two views. */
export function mode(view) {
  if (view === "runs") return pause();
  if (now.mode === view && now.answer) return;
  now.mode = view;
  say($("title"), view === "symmetry" ? "Turn the world. Does the policy turn with it?" : "An episode");
  say($("subtitle"), SUBTITLES[view]);
  if (now.answer) queue(() => look(now.answer.state));
}

/** Plays the model of a run. */
export function open(id) {
  const model = now.list.find((m) => m.id === `run:${id}`);
  if (model) choose(model);
}

/** A key that was pressed; says whether it means something. */
export function key(name) {
  const lower = name.toLowerCase();
  const slide = (by) => {
    $("speed").value = String(Number($("speed").value) + by);
    transport();
  };
  if (name === " ") now.playing ? pause() : play();
  else if (name === "." || name === "ArrowRight") single();
  else if (name === "," || name === "ArrowLeft") pause(), back();
  else if (lower === "n") fresh();
  else if (lower === "m") swap(kindOf(current()) === "plain" ? "equivariant" : "plain");
  else if (lower === "a") picked((now.agent + 1) % now.answer.here.probabilities.length);
  else if (name === "+" || name === "=") slide(1);
  else if (name === "-") slide(-1);
  else if (twinned() && lower === "g") {
    const names = now.answer.elements.map((e) => e.name);
    turn(names[(names.indexOf(now.element) + 1) % names.length]);
  } else if (twinned() && now.answer.elements[Number(name) - 1]) turn(now.answer.elements[Number(name) - 1].name);
  else return false;
  return true;
}

function single() {
  pause();
  queue(() => step(180));
}

function fresh() {
  pause();
  now.episode += 1;
  queue(begin);
}

$("play").addEventListener("click", () => (now.playing ? pause() : play()));
$("step").addEventListener("click", single);
$("new").addEventListener("click", fresh);
$("speed").addEventListener("input", transport);
$("equivariant").addEventListener("click", () => swap("equivariant"));
$("plain").addEventListener("click", () => swap("plain"));
$("model").addEventListener("change", () => choose(now.list.find((m) => m.id === $("model").value)));
for (const id of ["drones", "rows", "cols", "seed"]) {
  $(id).addEventListener("change", () => {
    pause();
    if (id === "seed") now.episode = 0;
    queue(begin);
  });
}
new MutationObserver(() => now.answer && draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
transport();
