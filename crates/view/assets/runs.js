// Runs: a list that follows the folders, curves of the chosen ones, and what sets two of them apart.

import { $, h, number, picture, say, short } from "./dom.js";
import { ask } from "./talk.js";
import * as stage from "./stage.js";

const MOST = 200;
const NAMES = ["state", "world", "method", "seed", "steps", "return", "measure"];
const LABELS = { seed: "seed", steps: "steps", return: "return" };
const RIGHT = ["seed", "steps", "return", "measure"];
const rows = new Map();
/** What somebody said of a run's curve: whether it is drawn. */
const said = new Map();
/** The worlds of runs that were made to be shown. */
let reported = new Set();
let list_ = [], visible = false, drawn = "", asked = 0, timer = 0;

/** Runs are drawn until somebody says otherwise, so that new ones appear by themselves. Those that were made to choose a
 * learning rate are not what a world's curves are about, if there are others. */
const usual = (run) => !run.for_choosing || !reported.has(run.world);
const isDrawn = (run) => run.state !== "unreadable" && (said.get(run.id) ?? usual(run));
const chosen = () => list_.filter(isDrawn).slice(0, MOST);

/** What the runs' worlds measure besides the return. */
const measures = () => [...new Set(list_.filter((run) => run.measure).map((run) => run.measure.name))];

/** Hears which runs there are. */
export function list(runs) {
  list_ = runs;
  reported = new Set(runs.filter((run) => !run.for_choosing).map((run) => run.world));
  const body = $("list").tBodies[0];
  for (const [id, row] of rows) {
    if (runs.some((run) => run.id === id)) continue;
    row.element.remove();
    rows.delete(id);
  }
  runs.forEach((run, i) => {
    const row = rows.get(run.id) ?? made(run);
    rows.set(run.id, row);
    update(row, run);
    if (body.rows[i] !== row.element) body.insertBefore(row.element, body.rows[i] ?? null);
  });
  const count = (state) => runs.filter((run) => run.state === state).length;
  const words = ["running", "finished", "stopped", "failed", "unreadable"].filter((s) => count(s) > 0).map((s) => `${count(s)} ${s}`);
  const choosing = runs.filter((run) => !usual(run)).length;
  const apart = choosing === 0 ? "" : ` ${choosing} ${choosing === 1 ? "was" : "were"} made to choose learning rates, and ${choosing === 1 ? "is" : "are"} drawn only if ticked.`;
  say($("runs-note"), runs.length === 0
    ? "There are no runs here yet. Train a team (equimarl train --out runs/a), and it appears by itself."
    : `${words.join(", ")}.${apart} The list and the curves follow the folder by themselves.`);
  $("list").hidden = runs.length === 0;
  // With one measure the column has its name; with several, each cell says which it is.
  const names = measures();
  $("list").dataset.measured = names.length > 0 ? "yes" : "no";
  say($("measure-name"), names.length === 1 ? names[0][0].toUpperCase() + names[0].slice(1).replaceAll("_", " ") : names.length > 1 ? "Measure" : "");
  ticks();
  pairs();
  refresh();
}

function ticks() {
  const drawn = list_.filter(isDrawn).length, all = list_.filter((run) => run.state !== "unreadable").length;
  $("all").checked = all > 0 && drawn === all;
  $("all").indeterminate = drawn > 0 && drawn < all;
  say($("too-many"), drawn > MOST ? `Only the first ${MOST} of ${drawn} chosen runs are drawn.` : "");
}

function made(run) {
  const tick = h("input", {
    type: "checkbox", "aria-label": `Draw the curve of ${run.id}`, onchange: () => {
      said.set(run.id, tick.checked);
      ticks();
      refresh();
    },
  });
  const bar = h("progress", { max: 1, value: 0, "aria-label": `Progress of ${run.id}` });
  const cells = Object.fromEntries(NAMES.map((name) => [name, h("span")]));
  const play = h("button", {
    type: "button", class: "quiet", "aria-label": `Play ${run.id}`, onclick: () => {
      stage.open(run.id);
      location.hash = "#episode";
    },
  }, "Play");
  // On narrow screens a row is a card, and each value has its name beside it. Roles are said, because a table that is laid
  // out as something else is none to who hears it.
  const cell = (name, ...children) => h("td", { role: "cell", class: `${name}-cell${RIGHT.includes(name) ? " right" : ""}${name === "measure" ? " measure" : ""}`, "data-label": LABELS[name] ?? null }, children);
  const element = h("tr", { "data-run": run.id, role: "row" },
    cell("tick", tick), h("th", { scope: "row", role: "rowheader" }, run.id), ...NAMES.map((name) => cell(name, cells[name], name === "steps" ? bar : null)),
    cell("play", play));
  return { element, cells, bar, tick, play };
}

function update({ element, cells, bar, tick, play }, run) {
  element.dataset.state = run.state;
  element.dataset.done = String(run.done);
  say(cells.state, run.state);
  cells.state.className = `state ${run.state}`;
  cells.state.title = run.problem ?? "";
  const known = run.state !== "unreadable";
  say(cells.world, run.world);
  say(cells.method, known ? `${run.method}${run.method.includes("plain") ? "" : `, ${run.group}`}` : run.problem ?? "");
  say(cells.seed, known ? String(run.seed) : "");
  say(cells.steps, known ? `${short(run.done)} of ${short(run.steps)}` : "");
  bar.value = run.steps > 0 ? Math.min(1, run.done / run.steps) : 0;
  bar.hidden = run.state === "finished" || !known;
  say(cells.return, known ? number(run.return, 2) : "");
  say(cells.measure, run.measure ? `${measures().length > 1 ? `${run.measure.name} ` : ""}${number(run.measure.value, 2)}` : "");
  cells.measure.title = run.measure?.title ?? "";
  cells.measure.parentElement.dataset.label = run.measure && measures().length === 1 ? run.measure.name.replaceAll("_", " ") : "";
  tick.checked = isDrawn(run);
  tick.disabled = !known;
  play.hidden = run.trained === null || !known;
}

/** Whether somebody is looking. */
export function seen(yes) {
  visible = yes;
  refresh();
}

/** Draws the curves again if anything about them changed, soon but not more often than needed. */
function refresh() {
  say($("smoothing"), `${$("smooth").value} points`);
  clearTimeout(timer);
  if (visible) timer = setTimeout(curves, 60);
}

async function curves() {
  const runs = chosen();
  const width = Math.round(Math.min(1200, $("figures").clientWidth || 640));
  const question = { runs: runs.map((run) => run.id), group: $("grouped").checked, smooth: Number($("smooth").value), width };
  const key = JSON.stringify([question, runs.map((run) => run.done)]);
  if (key === drawn) return;
  const mine = ++asked;
  try {
    const answer = await ask("/api/curves", question);
    if (mine !== asked) return;
    drawn = key;
    const figures = answer.figures.map((f) => h("figure", { "data-world": f.world }, picture(f.svg), repeated(f.repeated)));
    $("figures").replaceChildren(...figures);
    $("figures").dataset.updates = String(Number($("figures").dataset.updates ?? 0) + 1);
  } catch (error) {
    $("figures").replaceChildren(h("p", { class: "problem" }, error.message));
  }
}

/** Says which runs are not in the curves, because each seed counts once. */
function repeated(ids) {
  if (ids.length === 0) return null;
  const names = `${ids.slice(0, 3).join(", ")}${ids.length > 3 ? ", ..." : ""}`;
  return h("figcaption", { class: "muted" }, `Each seed counts once, a finished run before others, a longer one before shorter: ${ids.length} ${ids.length === 1 ? "run is" : "runs are"} not drawn (${names}).`);
}

/** Runs to choose from, by the sweep that they belong to. */
function parts(runs) {
  const sweeps = Map.groupBy(runs, (run) => run.sweep);
  const option = (run) => h("option", { value: run.id }, run.id);
  return [...sweeps].flatMap(([sweep, runs]) => (sweep === "" ? runs.map(option) : [h("optgroup", { label: sweep }, runs.map(option))]));
}

function pairs() {
  const known = list_.filter((run) => run.state !== "unreadable");
  const ids = known.map((run) => run.id);
  $("diff").hidden = ids.length < 2;
  if (ids.length < 2) return;
  let changed = false;
  for (const [name, usual] of [["diff-a", 0], ["diff-b", 1]]) {
    const select = $(name);
    const key = JSON.stringify(ids);
    if (select.dataset.key === key) continue;
    const value = ids.includes(select.value) ? select.value : ids[usual];
    select.replaceChildren(...parts(known));
    select.value = value;
    select.dataset.key = key;
    changed = true;
  }
  if (changed) compare();
}

async function compare() {
  const [a, b] = [$("diff-a").value, $("diff-b").value];
  const text = (value) => (value === null || value === undefined ? "–" : typeof value === "string" ? value : JSON.stringify(value));
  try {
    const answer = await ask(`/api/difference?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`);
    // Answers may overtake each other; an older one must not replace what is asked for now.
    if ($("diff-a").value !== a || $("diff-b").value !== b) return;
    const rows = answer.differ.map((d) => h("tr", {}, h("th", { scope: "row" }, d.key), h("td", {}, text(d.a)), h("td", {}, text(d.b))));
    const note = h("p", { class: "muted" }, rows.length === 0 ? `All ${answer.same} settings are the same.` : `${answer.same} other settings are the same.`);
    const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Setting"), h("th", { scope: "col" }, a), h("th", { scope: "col" }, b))), h("tbody", {}, rows));
    $("diff-table").replaceChildren(...(rows.length === 0 ? [note] : [table, note]));
  } catch (error) {
    $("diff-table").replaceChildren(h("p", { class: "muted" }, error.message));
  }
}

$("all").addEventListener("change", () => {
  list_.forEach((run) => said.set(run.id, $("all").checked));
  list(list_);
});
$("grouped").addEventListener("change", refresh);
$("smooth").addEventListener("input", refresh);
$("diff-a").addEventListener("change", compare);
$("diff-b").addEventListener("change", compare);
addEventListener("resize", refresh);
