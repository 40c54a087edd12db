// Elements, numbers as text, and colours: what all parts of the page share.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "text") node.textContent = value;
    else if (name in node && typeof value !== "string" && !(node instanceof SVGElement)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

export const byId = (id) => document.getElementById(id);

// A colour of style.css by its name there, as it is in the present theme.
export function ink(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const LINES = ["line-1", "line-2", "line-3", "line-4", "line-5", "line-6", "line-7"];
export const lineInk = (k) => ink(LINES[k % LINES.length]);

// JSON has no infinities: they come as text.
export function number(value) {
  if (typeof value === "number") return value;
  if (value === "inf" || value === "Infinity") return Infinity;
  if (value === "-inf" || value === "-Infinity") return -Infinity;
  return NaN;
}

// At most four digits, with a true minus.
export function show(value, digits = 4) {
  const v = number(value);
  if (Number.isNaN(v)) return "—";
  if (v === Infinity) return "∞";
  if (v === -Infinity) return "−∞";
  const clean = Math.abs(v) < 5e-10 ? 0 : v;
  const size = Math.abs(clean);
  let text = size !== 0 && (size >= 1e6 || size < 1e-4)
    ? clean.toExponential(2)
    : String(Number(clean.toPrecision(digits)));
  if (size >= 10 ** digits && size < 1e6) text = String(Math.round(clean));
  return text.replace("-", "−");
}

export const percent = (share) => `${show(100 * share, 3)} %`;

export function named(mdp, state) {
  return mdp.state_names ? mdp.state_names[state] : `state ${state}`;
}

export function list(words) {
  if (words.length < 2) return words.join("");
  return `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

// One thing at a time; the pieces that a person reads are bold.
export function sentence(...parts) {
  return el("p", {}, parts.map((part) => (Array.isArray(part) ? el("strong", {}, part[0]) : part)));
}

export function table(heads, rows, caption) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "table" },
    el("table", {},
      caption ? el("caption", {}, caption) : null,
      el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, i) =>
        i ? el("td", {}, cell) : el("th", { scope: "row" }, cell)))))));
}

export function choice(label, options, value, change, attributes = {}) {
  const select = el("select", { ...attributes, onchange: (event) => change(event.target.value) },
    options.map(([key, text, title]) => el("option", { value: key, title, selected: String(key) === String(value) }, text)));
  return el("label", { class: "field" }, el("span", {}, label), select);
}
