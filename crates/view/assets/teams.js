// Teams: what they are called, in which order a long list of them stands, and which one is compared with another.

import { h, number, short } from "./dom.js";

/** A list with more trained teams than this can be searched. */
export const MANY = 12;
const ORDER = ["equivariant", "plain"];

/** The kind that a team is of: `equivariant`, `plain`, or nothing. A plain network that learned from turned copies is neither. */
export function kindOf({ method }) {
  const kind = method.replace(/^central-/, "");
  return ORDER.includes(kind) ? kind : null;
}

const comma = (n) => n.toLocaleString("en-US");

/** What a team is: its method, steps, seed and run. */
export function words({ method, fresh, run, name }) {
  if (fresh) return `${method}, untrained (random weights)`;
  if (!run) return `${method}, from the file ${name}`;
  const symmetry = kindOf({ method }) === "equivariant" ? ` (${run.group})` : "";
  const steps = run.finished ? `${comma(run.trained)} steps` : `${comma(run.trained)} of ${comma(run.steps)} steps so far`;
  return `${method}${symmetry}, ${steps}, seed ${run.seed}, run ${run.id}`;
}

/** An untrained team of a kind, in the world of another team. The server makes it when it is asked for. */
function untrained(model, kind) {
  const method = model.method.startsWith("central-") ? `central-${kind}` : kind;
  const of = model.of ?? model.id, own = kindOf(model);
  const beside = { ...model.beside, ...(own && !model.of ? { [own]: { team: of } } : {}) };
  return { ...model, id: `new:${method}:${of}`, of, method, name: `untrained ${method}`, fresh: true, run: null, beside };
}

/** The team of a kind to compare a team with: the one that is like it, or an untrained one and the reason. `list` has all. */
export function counterpart(model, kind, list) {
  const said = model.beside?.[kind];
  const found = list.find((other) => other.id === said?.team);
  if (found) return { model: found, why: null };
  const none = said?.none ?? "There is no trained team here to compare it with.";
  return { model: untrained(model, kind), why: model.fresh ? null : none };
}

/** The team that takes the place of one that is gone: of its world, of its method, as large. */
export function replacement(gone, list) {
  const alike = (m) => (m.world === gone.world ? 4 : 0) + (m.method === gone.method ? 2 : 0) + (m.label === gone.label ? 1 : 0) - (m.fresh ? 4 : 0);
  return [...list].sort((a, b) => alike(b) - alike(a))[0];
}

/** The team to begin with: an equivariant one that was trained to be shown, of the first world that has one. */
export function first(list, worlds) {
  const sorted = arranged(list).flatMap((part) => part.models);
  const trained = sorted.filter((m) => !m.fresh), shown = trained.filter((m) => !m.run?.for_choosing);
  const equivariant = shown.filter((m) => m.method === "equivariant");
  return worlds.map(({ name }) => equivariant.find((m) => m.world === name)).find(Boolean) ?? shown[0] ?? trained[0] ?? list[0];
}

/** The short name in a list, below the name of its part. */
function line({ method, label, fresh, of, run, name }) {
  if (fresh) return `${label}: ${name}${of ? `, beside ${of.replace(/^run:/, "")}` : ""}`;
  if (!run) return `${name} (${method})`;
  const value = run.return === null ? "" : `, return ${number(run.return, 2)}`;
  return `${method}, seed ${run.seed}, ${short(run.trained)} steps${value}${run.finished ? "" : ", so far"}`;
}

/** What a part of the list is called: sweep and world. */
function heading({ fresh, run, label }) {
  if (fresh) return "Untrained, random weights";
  if (!run) return "From a file";
  return `${run.sweep ? `${run.sweep}: ` : ""}${label}${run.for_choosing ? " (made to choose learning rates)" : ""}`;
}

const rank = ({ fresh, run }) => (fresh ? 2 : run?.for_choosing ? 1 : 0);
const place = ({ method }) => `${ORDER.includes(method) ? ORDER.indexOf(method) : 9}${method}`;
/** By method, the best first. */
const better = (a, b) => (place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : (b.run?.return ?? -Infinity) - (a.run?.return ?? -Infinity) || 0);

/** The list in parts by sweep and world, the newest first. */
function arranged(list) {
  const parts = new Map();
  for (const model of list) {
    const label = heading(model);
    if (!parts.has(label)) parts.set(label, { label, models: [], rank: rank(model), newest: 0 });
    const part = parts.get(label);
    part.models.push(model);
    part.newest = Math.max(part.newest, model.run?.written ?? 0);
  }
  for (const part of parts.values()) part.models.sort((a, b) => (a.fresh ? 0 : better(a, b)));
  return [...parts.values()].sort((a, b) => a.rank - b.rank || b.newest - a.newest);
}

/** Elements for a list of teams: those in which all words of `wanted` are found, and the one that is chosen. */
export function options(list, wanted, chosen) {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  return arranged(list).map(({ label, models }) => {
    const names = models.map(line);
    // Names that are there twice go on with what their run is called.
    const text = (model, name) => (names.filter((n) => n === name).length > 1 && model.run ? `${name} (${model.run.id.split("/").at(-1)})` : name);
    const entries = models.map((model, i) => ({ model, text: text(model, names[i]) }))
      .filter(({ model, text }) => model.id === chosen || words.every((word) => `${label} ${text} ${model.id}`.toLowerCase().includes(word)));
    return entries.length === 0 ? null
      : h("optgroup", { label }, entries.map(({ model, text }) => h("option", { value: model.id, title: model.run?.id ?? null }, text)));
  }).filter(Boolean);
}
