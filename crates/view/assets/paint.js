// Colours of a scene, which are made for light paper, on dark paper: greys change sides, colours stay what they are.

/** Lightness and the two colour axes of OKLab. */
function lab(hex) {
  const [r, g, b] = [1, 3, 5].map((k) => {
    const v = parseInt(hex.slice(k, k + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  });
  const [l, m, s] = [
    Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b),
    Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b),
    Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b),
  ];
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

function rgb([light, a, b]) {
  const l = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (light - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const parts = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return `#${parts.map((v) => {
    const part = v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
    return Math.round(255 * Math.min(1, Math.max(0, part))).toString(16).padStart(2, "0");
  }).join("")}`;
}

/** How much of a colour a colour is: 0 for greys and paper, 1 for what somebody would name. */
export function vivid(hex) {
  const [, a, b] = lab(hex);
  return Math.min(1, Math.max(0, (Math.hypot(a, b) - 0.03) / 0.06));
}

/** How far two colours are from each other: 0.7 from white to ink. */
export function apart(one, other) {
  if (one === other) return 0;
  const [p, q] = [lab(one), lab(other)];
  return Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
}

const known = new Map();

/** A colour on dark paper. White becomes the panel, ink becomes light; colours become a little lighter. */
export function onDark(hex) {
  if (!known.has(hex)) {
    const [light, a, b] = lab(hex), own = vivid(hex);
    const grey = 1.216 - 0.986 * light, colour = light + 0.35 * Math.max(0, 0.75 - light);
    // Greys take a little of the page's own cool tint.
    const tint = (v, cool) => own * v + (1 - own) * (0.5 * v + cool);
    known.set(hex, rgb([own * colour + (1 - own) * grey, tint(a, -0.004), tint(b, -0.01)]));
  }
  return known.get(hex);
}
