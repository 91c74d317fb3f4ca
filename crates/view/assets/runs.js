// Runs: a list that follows the folders, curves of the chosen ones, and what sets two of them apart.

import { $, h, number, picture, say, short } from "./dom.js";
import { ask } from "./talk.js";
import * as stage from "./stage.js";

const MOST = 200;
const rows = new Map();
/** Runs are chosen until somebody says otherwise, so that new ones appear by themselves. */
const left = new Set();
let list_ = [], visible = false, drawn = "", asked = 0, timer = 0;

const chosen = () => list_.filter((run) => run.state !== "unreadable" && !left.has(run.id)).slice(0, MOST);

/** What the runs' worlds measure besides the return. */
const measures = () => [...new Set(list_.filter((run) => run.measure).map((run) => run.measure.name))];

/** Hears which runs there are. */
export function list(runs) {
  list_ = runs;
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
  say($("runs-note"), runs.length === 0
    ? "There are no runs here yet. Train a team (equimarl train --out runs/a), and it appears by itself."
    : `${words.join(", ")}. The list and the curves follow the folder by themselves.`);
  $("list").hidden = runs.length === 0;
  // With one measure the column has its name; with several, each cell says which it is.
  const names = measures();
  $("list").dataset.measured = names.length > 0 ? "yes" : "no";
  say($("measure-name"), names.length === 1 ? names[0][0].toUpperCase() + names[0].slice(1).replaceAll("_", " ") : names.length > 1 ? "Measure" : "");
  $("all").checked = runs.length > 0 && left.size === 0;
  pairs();
  refresh();
}

function made(run) {
  const tick = h("input", {
    type: "checkbox", "aria-label": `Draw the curve of ${run.id}`, onchange: () => {
      if (tick.checked) left.delete(run.id);
      else left.add(run.id);
      refresh();
    },
  });
  const bar = h("progress", { max: 1, value: 0, "aria-label": `Progress of ${run.id}` });
  const cells = Object.fromEntries(["state", "world", "method", "seed", "steps", "return", "measure"].map((name) => [name, h("span")]));
  const play = h("button", {
    type: "button", class: "quiet", "aria-label": `Play ${run.id}`, onclick: () => {
      stage.open(run.id);
      location.hash = "#episode";
    },
  }, "Play");
  const element = h("tr", { "data-run": run.id },
    h("td", {}, tick), h("th", { scope: "row" }, run.id), h("td", {}, cells.state), h("td", {}, cells.world), h("td", {}, cells.method),
    h("td", { class: "right" }, cells.seed), h("td", { class: "right" }, cells.steps, bar), h("td", { class: "right" }, cells.return),
    h("td", { class: "right measure" }, cells.measure), h("td", {}, play));
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
  tick.checked = known && !left.has(run.id);
  tick.disabled = !known;
  play.hidden = !run.playable || !known;
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
    const figures = answer.figures.map((f) => h("figure", { "data-world": f.world }, picture(f.svg)));
    $("figures").replaceChildren(...figures);
    $("figures").dataset.updates = String(Number($("figures").dataset.updates ?? 0) + 1);
  } catch (error) {
    $("figures").replaceChildren(h("p", { class: "problem" }, error.message));
  }
}

function pairs() {
  const ids = list_.filter((run) => run.state !== "unreadable").map((run) => run.id);
  $("diff").hidden = ids.length < 2;
  if (ids.length < 2) return;
  let changed = false;
  for (const [name, usual] of [["diff-a", 0], ["diff-b", 1]]) {
    const select = $(name);
    const key = JSON.stringify(ids);
    if (select.dataset.key === key) continue;
    const value = ids.includes(select.value) ? select.value : ids[usual];
    select.replaceChildren(...ids.map((id) => h("option", { value: id }, id)));
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
    const rows = answer.differ.map((d) => h("tr", {}, h("th", { scope: "row" }, d.key), h("td", {}, text(d.a)), h("td", {}, text(d.b))));
    const note = h("p", { class: "muted" }, rows.length === 0 ? `All ${answer.same} settings are the same.` : `${answer.same} other settings are the same.`);
    const table = h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Setting"), h("th", { scope: "col" }, a), h("th", { scope: "col" }, b))), h("tbody", {}, rows));
    $("diff-table").replaceChildren(...(rows.length === 0 ? [note] : [table, note]));
  } catch (error) {
    $("diff-table").replaceChildren(h("p", { class: "muted" }, error.message));
  }
}

$("all").addEventListener("change", () => {
  left.clear();
  if (!$("all").checked) list_.forEach((run) => left.add(run.id));
  list(list_);
});
$("grouped").addEventListener("change", refresh);
$("smooth").addEventListener("input", refresh);
$("diff-a").addEventListener("change", compare);
$("diff-b").addEventListener("change", compare);
addEventListener("resize", refresh);
