// Fields for the options of a world, made from what the world declares.

import { h } from "./dom.js";

const words = (key) => key[0].toUpperCase() + key.slice(1).replaceAll("_", " ");

function field({ key, help, kind, usual }, value, changed) {
  const now = value ?? usual;
  const id = `set-${key}`, more = { id, title: help, "data-key": key, "data-kind": kind, onchange: changed };
  const input = {
    flag: () => h("input", { type: "checkbox", checked: now === true, ...more }),
    whole: () => h("input", { type: "number", min: 0, step: 1, inputmode: "numeric", value: String(now), ...more }),
    number: () => h("input", { type: "number", step: "any", inputmode: "decimal", value: String(now), ...more }),
    text: () => h("input", { type: "text", maxlength: 200, autocomplete: "off", value: String(now), ...more }),
  }[kind]();
  return h("label", { for: id, class: kind === "flag" ? "tick" : null }, words(key), input);
}

/** Replaces the fields by those of a world, set as `settings` say. */
export function fill(container, options, settings, changed) {
  container.replaceChildren(...options.map((option) => field(option, settings[option.key], changed)));
}

/** What the fields say. An empty number is left as the model has it. */
export function read(container) {
  const found = [...container.querySelectorAll("input")].map((input) => {
    const { key, kind } = input.dataset;
    if (kind === "flag") return [key, input.checked];
    if (kind === "text") return [key, input.value];
    return [key, input.value === "" ? undefined : Number(input.value)];
  });
  return Object.fromEntries(found.filter(([, value]) => value !== undefined));
}
