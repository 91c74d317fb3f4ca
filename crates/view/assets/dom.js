// Making elements without markup in text: nothing that a run is called can become part of the page.

const SVG = "http://www.w3.org/2000/svg";

export const $ = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** An SVG element. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** Sets text, and touches nothing if it is there already. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** An SVG that the server drew, as an element of this page. */
export function picture(text) {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml");
  return document.importNode(parsed.documentElement, true);
}

/** A number as people write it: few digits, and powers of ten where zeros would not help. */
export function number(x, digits = 3) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  return x.toFixed(digits).replace("-", "−");
}

/** A difference: 0, 3.1e−8, 0.214. */
export function difference(x) {
  if (x === null || x === undefined || !Number.isFinite(x)) return "–";
  if (x === 0) return "0";
  if (x >= 0.001) return x.toFixed(3);
  return x.toExponential(1).replace("-", "−");
}

/** Environment steps: 1.5k, 2M. */
export function short(n) {
  if (n >= 1e6) return `${+(n / 1e6).toFixed(2)}M`;
  if (n >= 1e4) return `${+(n / 1e3).toFixed(0)}k`;
  return String(n);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
