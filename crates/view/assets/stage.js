// Episodes and symmetry: one world on the left, its turned twin on the right. This page holds the state; the server
// answers what the policy says of it.

import { $, difference, h, number, s, say } from "./dom.js";
import { ask } from "./talk.js";
import { Board } from "./board.js";
import * as details from "./details.js";
import * as fields from "./fields.js";
import { kindOf as thingKind, nameOf, read } from "./scene.js";
import * as teams from "./teams.js";

const { kindOf } = teams;
const KINDS = ["equivariant", "plain"];

const PACES = [0.5, 1, 1.5, 2, 3, 4, 6, 8, 12, 18, 24];
/** Differences below are rounding: the tolerance of `equimarl check network`. */
const ROUNDING = 1e-5;
const HISTORY = 600;
/** Steps after which a world that begins empty has something to show. */
const OPENING = 16;

const now = {
  // `made` is an untrained team that was made to be compared with another, `back` the way back from it.
  // `along` says whether what breaks the symmetry is turned along; null leaves that to the team.
  worlds: [], list: [], made: null, back: null, model: null, mode: "symmetry", element: "r", along: null, agent: 0, episode: 0,
  answer: null, steps: 0, total: 0, end: "running", history: [], playing: false, edited: false,
};
const here = new Board(document.querySelector("#here svg"), { changed: edit, picked, dropped });
const there = new Board(document.querySelector("#there svg"));

const find = (id) => now.list.find((model) => model.id === id) ?? (now.made?.id === id ? now.made : undefined);
const current = () => find(now.model);
const twinned = () => now.mode === "symmetry";

// Which team

/** Hears which models and worlds there are. */
export function models(list, worlds) {
  const before = current();
  Object.assign(now, { list, worlds });
  if (now.made && !list.some((model) => model.id === now.made.of)) now.made = null;
  if (before && !current()) {
    pause();
    choose(teams.replacement(before, list));
    // Said last, because every answer takes the last problem away.
    queue(() => problem(`${before.name} was deleted; another team plays now.`));
  } else if (!before) {
    const first = teams.first(list, worlds);
    if (first) choose(first);
  }
  offer();
  compared();
}

/** The list of teams to choose from. */
function offer() {
  const list = now.made ? [...now.list, now.made] : now.list;
  const many = list.filter((model) => !model.fresh).length > teams.MANY;
  $("find-team").hidden = !many;
  const select = $("model"), wanted = many ? $("find").value : "";
  const text = JSON.stringify([list, wanted]), ids = JSON.stringify([list.map((model) => model.id), wanted]);
  // A list that somebody may have open changes only if a team comes or goes.
  const open = document.activeElement === select && select.dataset.ids === ids;
  if (select.dataset.list !== text && !open) {
    select.replaceChildren(...teams.options(list, wanted, now.model));
    Object.assign(select.dataset, { list: text, ids });
  }
  select.value = now.model;
}

/** The team of a kind that a team is compared with, and why it is an untrained one if it is. */
function beside(model, kind) {
  const back = now.back?.from === model.id && now.back.kind === kind ? find(now.back.to) : null;
  return back ? { model: back, why: null } : teams.counterpart(model, kind, now.list);
}

/** Says which team plays, and which one the buttons beside it mean. */
function compared() {
  const model = current();
  if (!model) return;
  const others = [];
  for (const kind of KINDS) {
    const own = kindOf(model) === kind, name = kind[0].toUpperCase() + kind.slice(1);
    const other = own ? null : beside(model, kind);
    $(kind).setAttribute("aria-pressed", String(own));
    say($(kind), other?.model.fresh && !model.fresh ? `${name}, untrained` : name);
    $(kind).title = teams.words(other?.model ?? model);
    if (other) others.push(other.why ? `${other.why} An untrained one can be shown instead.` : `Compared with ${teams.words(other.model)}.`);
  }
  const text = teams.words(model);
  say($("plays"), `${text[0].toUpperCase()}${text.slice(1)}.`);
  say($("beside"), others.join(" "));
}

/** Plays another team: in the same state if it is of the same world and was trained in the same size. */
export function choose(model) {
  const old = current();
  const same = old && now.answer && old.world === model.world && JSON.stringify(old.settings) === JSON.stringify(model.settings);
  Object.assign(now, { model: model.id, along: null });
  if (model.of) now.made = model;
  offer();
  compared();
  if (!same) sized(model);
  const anew = () => {
    sized(model);
    return begin();
  };
  // In another size than its own it may not be able to play.
  if (same) queue(() => (now.answer ? look().catch(anew) : anew()));
  else queue(begin);
}

/** The fields of a model's world, set as the model has them. */
function sized(model) {
  const { options } = now.worlds.find(({ name }) => name === model.world) ?? { options: [] };
  fields.fill($("settings"), options, model.settings, () => {
    pause();
    queue(begin);
  });
}

function swap(kind) {
  const from = current();
  if (!from || kindOf(from) === kind) return;
  const { model } = beside(from, kind);
  // The way back leads to where it came from, whatever else is like the other one.
  now.back = kindOf(from) ? { from: model.id, kind: kindOf(from), to: from.id } : null;
  choose(model);
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
  return {
    model: now.model, settings: fields.read($("settings")), seed: fields.numberIn($("seed")), episode: now.episode, greedy: $("greedy").checked,
    pictures: details.shown(now.answer?.here, now.agent), ...(twinned() ? { element: now.element } : {}),
    ...(now.along === null ? {} : { along: now.along }), ...more,
  };
}

async function begin() {
  now.agent = 0;
  // Which turns there are depends on the world: a city that is not square has half turns only. What is wrong with a field is
  // known before anything is asked; then all stays as it is.
  const wanted = question({ element: undefined });
  now.answer = null;
  const answer = await ask("/api/episode", wanted).catch((error) => {
    document.body.dataset.shown = "no";
    throw error;
  });
  document.body.dataset.shown = "yes";
  const names = answer.elements.map((e) => e.name);
  if (!names.includes(now.element)) now.element = names[1] ?? names[0];
  Object.assign(now, { answer, steps: 0, total: 0, end: "running", history: [], edited: false });
  problem("");
  if (!twinned()) return draw();
  // A world with nothing in it that moves has nothing to show; beside a twin, it begins where there is something to compare.
  for (let k = 0; k < OPENING && empty(answer.here.scene); k++) await step(0, false);
  return look();
}

/** Whether people may change this world, and there is nothing in it yet that can be moved. */
function empty({ items }) {
  const handles = items.map((item) => item.handle).filter(Boolean);
  return handles.length > 0 && !handles.some((handle) => handle.drag);
}

/** Asks what the policy says of a state, after an edit if there is one. */
async function look(state = now.answer?.state, edit = undefined) {
  if (!now.answer) return;
  const before = performance.now();
  const { measure, alarms } = now.answer;
  now.answer = await ask("/api/episode", question({ state, edit, streams: now.answer.streams }));
  // What an episode came to is measured by its last step, and stays until something is changed.
  if (now.end !== "running" && !edit) Object.assign(now.answer, { measure, alarms });
  problem("");
  draw();
  // From the question to the drawn answer, in milliseconds.
  document.body.dataset.latency = String(Math.round(performance.now() - before));
}

async function step(pace, shown = true) {
  if (now.end !== "running" || !now.answer) return;
  const { answer: before, steps, total, end } = now;
  const answer = await ask("/api/episode", question({ state: before.state, streams: before.streams, step: true }));
  // A world that does not save its state cannot go back.
  if (!answer.state?.live) now.history.push({ answer: before, steps, total, end });
  if (now.history.length > HISTORY) now.history.shift();
  Object.assign(now, { answer, steps: steps + 1, total: total + answer.reward, end: answer.end });
  if (shown) draw(before.here.scene, pace);
}

function back() {
  const last = now.history.pop();
  if (!last) return;
  Object.assign(now, last);
  // What it was asked with may have changed meanwhile: the team, the turn.
  queue(() => look());
}

let wanted = null, refusal = "";
/** Somebody moved or pressed something in a state. Only the last of several quick edits is asked for. */
function edit(state, change) {
  if (wanted === null) {
    queue(async () => {
      const latest = wanted;
      wanted = null;
      try {
        await look(latest.state, latest.change);
        Object.assign(now, { edited: true, end: "running" });
        refusal = "";
      } catch (error) {
        if (error.status !== 422) throw error;
        // The world says what cannot be. On the way of a drag that is no news; where it ends, it is.
        here.refused();
        refusal = error.message;
      }
      if (!here.drag) dropped();
    });
  }
  wanted = { state, change };
}

/** A drag is over, or a key was pressed: what was refused is said. */
function dropped() {
  queue(() => say($("refused"), refusal));
}

function picked(agent) {
  if (agent === now.agent) return;
  now.agent = agent;
  // Edits that wait ask for this agent, too.
  if (wanted === null) queue(() => look());
}

// Playing

const pace = () => 1000 / PACES[Number($("speed").value)];

async function play() {
  if (now.end !== "running" || !now.answer) await queue(begin);
  if (!now.answer) return;
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
  const { here: view, twin, state, world } = answer;
  say($("refused"), "");
  say($("hint"), state?.live ? "" : hint(view.scene));
  say($("edges"), view.scene.torus ? "A torus: opposite edges are joined. What leaves on one side comes back on the other." : "");
  here.svg.setAttribute("aria-label", `The world as it is: ${answer.title}`);
  $("assumed").hidden = !answer.assumed;
  say($("assumed"), answer.assumed ?? "");
  $("asymmetry").hidden = !answer.asymmetry;
  const left = (answer.asymmetry ?? []).map(([layer, norm]) => `${layer} ${number(norm)}`);
  say($("asymmetry"), left.length ? `How far each layer has left the symmetry: ${left.join(", ")}.` : "");
  here.draw({ state, view, marks: world.marks, chosen: now.agent, before, pace: glide, waiting: wanted !== null });
  // Only a state that can be saved can be turned.
  document.body.dataset.live = state?.live ? "yes" : "no";
  if (twin) {
    const off = [];
    twin.agents.forEach((image, i) => (off[image] = Math.max(...twin.differences[i])));
    there.draw({ state: twin.state, view: twin, marks: world.marks, expected: twin.expected, differences: off, chosen: twin.agents[now.agent] });
  }
  verdict();
  say($("steps"), String(now.steps));
  say($("total"), number(now.total, Math.abs(now.total) < 1 ? 3 : 2));
  say($("value"), number(view.value, 3));
  say($("extra-name"), answer.measure?.name.replaceAll("_", " ") ?? "");
  say($("extra"), answer.measure ? number(answer.measure.value, 2) : "");
  $("extra-name").title = answer.measure?.title ?? "";
  alarms(answer.alarms);
  say($("subtitle"), subtitle());
  $("ending").hidden = now.end === "running";
  if (now.end !== "running") say($("ending"), `${ENDINGS[now.end]} The return is ${number(now.total, 3)}. Play begins a new episode.`);
  const scene = read(view.scene);
  details.agents($("agents"), { world, here: view, twin, chosen: now.agent, picked, nameOf: (agent) => nameOf(scene, agent) });
  const agents = view.probabilities.length;
  say($("agents-note"), agents > 9 ? `${agents} agents; here the chosen one and those that it hears. Click another one in the world.` : "");
  details.features($("features"), $("inside-note"), { here: view, twin, agent: now.agent });
}

/** What hides failures if nobody looks stands beside what is measured, and is coloured where there is some. */
function alarms(list) {
  const one = ({ name, title, value }) => h("div", { class: value > 0 ? "alarm bad" : "alarm", title: value === null ? `${title}; known at the end` : title },
    h("dt", {}, name.replaceAll("_", " ")), h("dd", { "data-alarm": name }, number(value, 2)));
  for (const old of $("score").querySelectorAll(".alarm")) old.remove();
  $("score").append(...list.map(one));
}

const ENDINGS = { terminated: "The episode is over.", truncated: "The episode was cut off at its step limit.",
  abandoned: "The simulator died; the episode does not count." };

/** What can be done in a scene, in a few words. */
function hint({ items }) {
  const kinds = (what) => [...new Set(items.filter((item) => item.handle?.[what]).map((item) => thingKind(item.handle.id)))];
  const list = (names) => names.map((name) => `${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`).join(" or ");
  const parts = [["drag", kinds("drag")], ["press", kinds("press")]].filter(([, names]) => names.length > 0);
  return parts.map(([verb, names]) => `${verb} ${names.length > 3 ? "things" : list(names)}`).join(", ");
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
  }, element.matrix ? glyph(element.matrix) : null, h("span", {}, element.name)));
  const focused = box.contains(document.activeElement);
  box.replaceChildren(...buttons);
  if (focused) box.querySelector("[aria-pressed=true]")?.focus();
}

function turn(name) {
  now.element = name;
  queue(async () => {
    await look();
    if (now.answer) there.spin(now.answer.elements.find((e) => e.name === name).matrix);
  });
}

function verdict() {
  const { twin, cause } = now.answer;
  elements();
  $("cause").hidden = !cause;
  $("along").checked = cause?.along ?? false;
  if (!twin) return;
  const element = now.answer.elements.find((e) => e.name === twin.element);
  say($("word"), element.words);
  const holds = twin.difference < ROUNDING && twin.value_difference < ROUNDING;
  const box = $("verdict");
  // Who is told what breaks the symmetry turns with it only.
  const fixed = !holds && element.built_in && cause?.told && !cause.along;
  box.dataset.holds = holds ? "yes" : fixed ? "fixed" : "no";
  box.dataset.difference = String(twin.difference);
  say($("difference"), difference(twin.difference));
  say($("value-difference"), difference(twin.value_difference));
  let text = `It turns with the world${cause?.along ? " and what breaks its symmetry" : ""}. What is left is rounding.`;
  if (element.identity) text = "Nothing was turned, so nothing can differ.";
  else if (fixed) text = "NOT equivariant while what breaks the symmetry is held fixed, as it should be: this network is told of it.";
  else if (!holds && turns(current()) && !element.built_in) text = "It breaks: this turn is not built into the network.";
  else if (!holds) text = "It breaks: turned, the same situation gets another answer.";
  say($("judgement"), text);
  if (!now.playing) say($("spoken"), `Largest difference ${difference(twin.difference)}. ${text}`);
}

/** Whether some turn is built into the network of a team. */
const turns = (team) => kindOf(team) === "equivariant" || now.answer.elements.some((e) => e.built_in && !e.identity);

/** What is seen, of the world that is seen. */
function subtitle() {
  const { answer } = now;
  if (twinned() && answer?.state?.live) return "This world does not save its states, so none can be turned: there is no twin beside it. Here the team plays.";
  if (twinned()) return "Left a state, right the same state turned. The network looks at each by itself: with the symmetry built in, every arrow turns along, and the number is rounding.";
  const seen = "Arrows and bars are what agents want; dots are messages between neighbours, round after round.";
  if (!answer) return seen;
  const edits = answer.here.scene.items.some((item) => item.handle) && !answer.state?.live;
  if (edits) return `${seen} Drag anything and see the policy change its mind.`;
  return `${seen} ${answer.state?.live ? "This world does not save its states, so nothing in it can be moved by hand." : "Nothing in this picture can be moved by hand."}`;
}

/** Shows one of the two views. */
export function mode(view) {
  if (view === "runs") return pause();
  say($("title"), view === "symmetry" ? "Turn the world. Does the policy turn with it?" : "An episode");
  const same = now.mode === view;
  now.mode = view;
  say($("subtitle"), subtitle());
  if (same && now.answer) return;
  if (now.answer) queue(() => look());
}

/** Plays the model of a run. */
export function open(id) {
  const model = find(`run:${id}`);
  now.back = null;
  if (model) choose(model);
}

/** A key that was pressed; says whether it means something. */
export function key(name) {
  const lower = name.toLowerCase();
  const slide = (by) => {
    $("speed").value = String(Number($("speed").value) + by);
    transport();
  };
  // Without a world there is nothing to do in it, but another episode or team may have one.
  if (!now.answer && !["n", "m"].includes(lower)) return false;
  if (name === " ") now.playing ? pause() : play();
  else if (name === "." || name === "ArrowRight") single();
  else if (name === "," || name === "ArrowLeft") pause(), back();
  else if (lower === "n") fresh();
  else if (lower === "m") swap(kindOf(current()) === "equivariant" ? "plain" : "equivariant");
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
$("model").addEventListener("change", () => {
  now.back = null;
  choose(find($("model").value));
});
$("find").addEventListener("input", offer);
$("along").addEventListener("change", () => {
  now.along = $("along").checked;
  queue(() => look());
});
$("seed").addEventListener("change", () => {
  pause();
  now.episode = 0;
  queue(begin);
});
new MutationObserver(() => now.answer && draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
transport();
