// Fields for the options of a world, made from what the world declares; and what is said of a number that cannot be.

import { h } from "./dom.js";

const words = (key) => key[0].toUpperCase() + key.slice(1).replaceAll("_", " ");

function field({ key, help, kind, usual, most }, value, changed) {
  const now = value ?? usual;
  const id = `set-${key}`, more = { id, title: help, "data-key": key, "data-kind": kind, onchange: changed };
  const input = {
    flag: () => h("input", { type: "checkbox", checked: now === true, ...more }),
    whole: () => h("input", { type: "number", min: 0, max: most, step: 1, inputmode: "numeric", value: String(now), ...more }),
    number: () => h("input", { type: "number", step: "any", inputmode: "decimal", value: String(now), ...more }),
    text: () => h("input", { type: "text", maxlength: 200, autocomplete: "off", value: String(now), ...more }),
  }[kind]();
  return h("label", { for: id, class: kind === "flag" ? "tick" : null }, words(key), input);
}

/** Replaces the fields by those of a world, set as `settings` say. */
export function fill(container, options, settings, changed) {
  container.replaceChildren(...options.map((option) => field(option, settings[option.key], changed)));
}

/** The number in a field; or an error that names the field, what it holds, and what it may. */
export function numberIn(input) {
  const whole = input.step === "1", most = input.max === "" ? Infinity : Number(input.max);
  // Of what is no number at all a browser says only that it is empty.
  const typed = input.value.trim(), value = Number(typed);
  const fine = typed !== "" && Number.isFinite(value) && (!whole || (Number.isInteger(value) && value >= 0 && value <= most));
  input.setAttribute("aria-invalid", String(!fine));
  if (fine) return value;
  const wanted = whole ? `a whole number from 0 to ${most.toLocaleString("en-US")}` : "a number";
  const name = input.labels[0].firstChild.textContent;
  throw new Error(`${name} must be ${wanted}; ${typed === "" ? "there is none in the field" : `${typed.replace("-", "−")} is not`}.`);
}

/** What the fields say; an error if one of them says nothing that can be. */
export function read(container) {
  const found = [...container.querySelectorAll("input")].map((input) => {
    const { key, kind } = input.dataset;
    if (kind === "flag") return [key, input.checked];
    return [key, kind === "text" ? input.value : numberIn(input)];
  });
  return Object.fromEntries(found);
}
