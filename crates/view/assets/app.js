// The page: which view is seen, light or dark, keys. The views themselves are in stage.js and runs.js.

import { $, say } from "./dom.js";
import { listen } from "./talk.js";
import * as runs from "./runs.js";
import * as stage from "./stage.js";

const VIEWS = ["symmetry", "episode", "runs"];
let chosen = false;

function show() {
  const wanted = location.hash.slice(1);
  const view = VIEWS.includes(wanted) ? wanted : "symmetry";
  $("stage").hidden = view === "runs";
  $("runs").hidden = view !== "runs";
  document.body.dataset.view = view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash.slice(1) === view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  stage.mode(view);
  runs.seen(view === "runs");
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

function remembered() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function switchTheme() {
  const dark = document.documentElement.dataset.theme !== "dark";
  theme(dark);
  try {
    localStorage.setItem("theme", dark ? "dark" : "light");
  } catch {
    // Not remembered, then.
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");
theme(remembered() === null ? system.matches : remembered() === "dark");
system.addEventListener("change", () => remembered() === null && theme(system.matches));
$("theme").addEventListener("click", switchTheme);

addEventListener("hashchange", () => {
  show();
  // A view begins at its top, with the way to the others; the browser would go to its first line.
  scrollTo(0, 0);
});
document.addEventListener("keydown", (event) => {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (target.closest("select, textarea, input:not([type=checkbox], [type=range])")) return;
  // A button, link or slider that has the focus keeps its own keys.
  if (event.key === " " && target.closest("button, a, input, summary, [role=button]")) return;
  if (event.key.startsWith("Arrow") && target.closest("input, .scroll")) return;
  if (event.key === "t" || event.key === "T") switchTheme();
  else if (event.key === "?") $("keys").open = !$("keys").open;
  else if (document.body.dataset.view === "runs" || !stage.key(event.key)) return;
  event.preventDefault();
});

listen(
  (list) => {
    // Whoever has runs wants to see them; whoever has none sees what symmetry is.
    if (!chosen && location.hash === "" && list.runs.length > 0) history.replaceState(null, "", "#runs");
    chosen = true;
    const running = list.runs.filter((run) => run.state === "running").length;
    $("running").hidden = running === 0;
    say($("running"), String(running));
    $("running").title = `${running} running`;
    stage.models(list.models, list.worlds);
    runs.list(list.runs);
    show();
  },
  (linked) => {
    say($("link"), linked ? "" : "No connection to the server; trying again");
    document.body.dataset.linked = linked ? "yes" : "no";
  },
);
