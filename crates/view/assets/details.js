// Agents one by one: what they see, what they want, here and in the turned world; and what goes on inside.

import { difference, h, number, s } from "./dom.js";

const SEEN = 9;
/** More numbers of one agent are not listed. */
const NUMBERS = 24;
/** Features that differ by less are the same. */
const SAME = 1e-4;

/** The agents that are shown: all of a small team, or the chosen one with those that it hears. The chosen one is first. */
export function shown(view, chosen) {
  const agents = view?.probabilities.length ?? SEEN;
  const heard = view ? view.edges.filter(([to, from]) => to === chosen && from < agents).map(([, from]) => from) : [];
  const rest = agents <= SEEN ? [...Array(agents).keys()] : heard;
  return [chosen, ...rest.filter((i) => i !== chosen)].slice(0, SEEN);
}

/** A picture of an observation: one colour per channel. */
function observation(hex, [channels, height, width], label) {
  const canvas = h("canvas", { class: "observation", width, height, role: "img", "aria-label": label });
  const context = canvas.getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const colours = [0, 1, 2].map((c) => style.getPropertyValue(`--see${channels === 1 ? 2 : c}`).trim().split(" ").map(Number));
  const image = context.createImageData(width, height);
  for (let c = 0; c < channels; c++) {
    for (let p = 0; p < width * height; p++) {
      const v = parseInt(hex[c * width * height + p], 16) / 15;
      if (v === 0) continue;
      const [r, g, b] = colours[c % 3];
      image.data.set([r, g, b, Math.round(255 * (c === 0 && channels > 1 ? 0.35 : v))], 4 * p);
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** The numbers that an agent sees, each with a bar from zero. */
function numbers(values, { labels }, label) {
  const most = Math.max(1e-9, ...values.map(Math.abs));
  const rows = values.slice(0, NUMBERS).map((v, k) => h("tr", {},
    h("th", { scope: "row" }, labels[k] ?? String(k)),
    h("td", { class: "wide" }, s("svg", { class: "bar", viewBox: "-50 0 100 10", preserveAspectRatio: "none", "aria-hidden": true },
      s("rect", { class: "rail", x: -50, width: 100, height: 10 }),
      s("rect", { class: "fill", x: Math.min(0, (50 * v) / most), width: (50 * Math.abs(v)) / most, height: 10 }))),
    h("td", { class: "right" }, number(v, 2))));
  const more = values.length > NUMBERS ? h("p", { class: "muted" }, `and ${values.length - NUMBERS} more`) : null;
  return h("div", { class: "numbers" }, h("table", { "aria-label": label }, h("tbody", {}, rows)), more);
}

/** What an agent sees: a picture, or numbers. */
function seen(view, who, sees, label) {
  if (view.pictures?.of[who]) return observation(view.pictures.of[who], view.pictures.shape, label);
  return view.numbers?.[who] ? numbers(view.numbers[who], sees, label) : null;
}

function bar(p, name) {
  return s("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": true },
    s("rect", { class: "rail", width: 100, height: 10 }), s("rect", { class: name, width: 100 * p, height: 10 }));
}

/** One card per agent; `nameOf` says what an agent is called. */
export function agents(container, { world, here, twin, chosen, picked, nameOf }) {
  const cards = shown(here, chosen).map((i) => {
    const image = twin ? twin.agents[i] : null;
    const pictures = [[here, i, "sees"], twin ? [twin, image, "sees, turned"] : null].filter(Boolean)
      .map(([view, who, what]) => seen(view, who, world.sees, `What ${nameOf(i)} ${what}`));
    const rows = world.actions.map((name, a) => {
      const p = here.probabilities[i][a];
      const cells = [h("th", { scope: "row" }, name), h("td", { class: "wide" }, bar(p, "fill")), h("td", { class: "right" }, number(p))];
      if (twin) {
        const b = twin.actions[a], q = twin.probabilities[image][b], off = twin.differences[i][a];
        cells.push(h("td", {}, world.actions[b]), h("td", { class: "wide" }, bar(q, off > 1e-5 ? "fill off" : "fill")), h("td", { class: "right" }, number(q)),
          h("td", { class: off > 1e-5 ? "right off" : "right same" }, difference(off)));
      }
      return h("tr", {}, cells);
    });
    const moved = twin && image !== i ? ` → ${image}` : "";
    const head = twin
      ? h("thead", {}, h("tr", {}, h("th", { scope: "col", colspan: 3 }, "here"), h("th", { scope: "col", colspan: 3 }, "turned"), h("th", { scope: "col", class: "right" }, "differ by")))
      : null;
    return h("article", { class: i === chosen ? "card chosen" : "card", "data-agent": i },
      h("h3", {}, h("button", { type: "button", class: "name", "aria-pressed": String(i === chosen), onclick: () => picked(i) }, `${nameOf(i)}${moved}`)),
      world.sees ? h("p", { class: "representation" }, `sees ${world.sees.representation}`) : null,
      h("div", { class: "pair" }, pictures),
      h("table", {}, head, h("tbody", {}, rows)));
  });
  container.replaceChildren(...cards);
}

function strip({ values, columns }, label) {
  const channels = values.length / columns, top = Math.max(1e-9, ...values);
  const cells = values.map((v, k) => s("rect", {
    x: Math.floor(k / columns), y: k % columns, width: 0.92, height: 0.92, rx: 0.12, class: "feature", opacity: 0.07 + 0.93 * (Math.max(0, v) / top),
  }));
  return s("svg", { class: "strip", viewBox: `0 0 ${channels} ${columns}`, role: "img", "aria-label": label }, cells);
}

/** The last features of the chosen agent, and where its turned twin has them. */
export function features(container, note, { here, twin, agent }) {
  container.replaceChildren();
  const own = here.features;
  if (!own) {
    note.textContent = "This network decides for the whole team at once; no agent has features of its own.";
    return;
  }
  const channels = own.values.length / own.columns;
  if (own.columns === 1) {
    note.textContent = twin
      ? `The last ${channels} features of agent ${agent}, here and in the turned world. Nothing ties them together.`
      : `The last ${channels} features of agent ${agent}.`;
  } else if (twin && twin.columns) {
    const image = (k) => twin.features.values[k - (k % own.columns) + twin.columns[k % own.columns]];
    const same = own.values.every((v, k) => Math.abs(v - image(k)) < SAME * Math.max(1, Math.abs(v)));
    note.textContent = `The last features of agent ${agent}: ${channels} channels, each with a number for every turn that the network knows. `
      + (same ? "In the turned world the same numbers stand in other rows. That is all that happens, in every layer."
        : "In the turned world other numbers stand in other rows: the network, or what it is told, did not turn along.");
  } else {
    note.textContent = `The last features of agent ${agent}: ${channels} channels, each with a number for every turn that the network knows.`
      + (twin ? " This turn is none of them, so its twin's features are others." : "");
  }
  const names = (list) => h("ul", { class: "names" }, list.map((name) => h("li", {}, own.columns === 1 ? "" : name)));
  container.append(names(own.names), strip(own, `Features of agent ${agent} here`));
  if (!twin) return;
  const lines = twin.columns
    ? twin.columns.map((to, from) => s("path", { d: `M0 ${from + 0.5}C.5 ${from + 0.5} .5 ${to + 0.5} 1 ${to + 0.5}` }))
    : [];
  container.append(
    s("svg", { class: "moves", viewBox: `0 0 1 ${own.columns}`, preserveAspectRatio: "none", "aria-hidden": true }, lines),
    strip(twin.features, `Features of agent ${twin.agents[agent]} in the turned world`), names(own.names));
}
