// Axes with round numbers, and what is drawn between them.

import { ink, show, svg } from "./dom.js";

function ticks(low, high, whole = false, most = 6) {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / most));
  const found = [];
  const fits = [1, 2, 5, 10].map((m) => m * power).find((s) => span / s <= most) || power * 10;
  const step = whole ? Math.max(1, fits) : fits;
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i += 1) found.push(i * step);
  return found;
}

export function span(values, extra = 0.06) {
  const finite = values.filter((v) => Number.isFinite(v));
  if (!finite.length) return [0, 1];
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const rest = (high - low || Math.abs(high) || 1) * extra;
  return [low - rest, high + rest];
}

// The same without the few that lie so far out that one would see nothing of the others.
export function middle(values, always) {
  const sorted = values.filter((v) => Number.isFinite(v)).sort((a, b) => a - b);
  const at = (share) => sorted[Math.round(share * (sorted.length - 1))];
  if (sorted.length < 8 || sorted[sorted.length - 1] - sorted[0] < 5 * (at(0.88) - at(0.12))) return span(values);
  const rest = at(0.88) - at(0.12);
  return span([...sorted.filter((v) => v >= at(0.12) - rest && v <= at(0.88) + rest), always]);
}

function text(x, y, words, attributes = {}) {
  return svg("text", { x, y, fill: ink("text"), "font-size": 12, "font-family": "sans-serif", ...attributes }, words);
}

// An empty chart; `x` and `y` turn numbers into places, `plot` is where to draw; `whole`: across there are whole numbers.
export function chart({ width: wide = 560, height = 320, across, up, whole = false, xName = "", yName = "", label, form = show }) {
  const width = Math.min(wide, Math.max(330, innerWidth - 40)); // letters stay readable on small screens
  const [left, right, top, bottom] = [62, width - 14, 14, height - 44];
  const x = (v) => left + ((v - across[0]) / (across[1] - across[0] || 1)) * (right - left);
  const y = (v) => bottom - ((v - up[0]) / (up[1] - up[0] || 1)) * (bottom - top);
  const figure = svg("svg", { class: "figure", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  figure.style.maxWidth = `${Math.round(width * 1.25)}px`;
  figure.append(svg("rect", { x: 0, y: 0, width, height, fill: ink("paper") }));
  for (const t of ticks(...across, whole)) {
    figure.append(svg("line", { x1: x(t), x2: x(t), y1: top, y2: bottom, stroke: ink("faint") }));
    figure.append(text(x(t), bottom + 17, form(t), { "text-anchor": "middle" }));
  }
  for (const t of ticks(...up)) {
    figure.append(svg("line", { x1: left, x2: right, y1: y(t), y2: y(t), stroke: ink("faint") }));
    figure.append(text(left - 6, y(t) + 4, show(t), { "text-anchor": "end" }));
  }
  figure.append(svg("path", { d: `M${left} ${top}V${bottom}H${right}`, fill: "none", stroke: ink("quiet") }));
  figure.append(text((left + right) / 2, height - 8, xName, { "text-anchor": "middle", "font-weight": 600 }));
  figure.append(text(14, (top + bottom) / 2, yName, { "text-anchor": "middle", "font-weight": 600, transform: `rotate(-90 14 ${(top + bottom) / 2})` }));
  const room = 9; // what lies outside is cut off
  const frame = { x: left - room, y: top - room, width: right - left + 2 * room, height: bottom - top + 2 * room };
  const plot = svg("svg", { ...frame, viewBox: `${frame.x} ${frame.y} ${frame.width} ${frame.height}` });
  figure.append(plot);
  return { figure, plot, x, y, left, right, top, bottom, text };
}

// A curve through points; gaps where there is no number.
export function curve(xs, ys, chartAt, attributes) {
  let path = "";
  let pen = false;
  xs.forEach((at, i) => {
    const value = ys[i];
    if (value === null || !Number.isFinite(value)) { pen = false; return; }
    path += `${pen ? "L" : "M"}${chartAt.x(at).toFixed(1)} ${chartAt.y(value).toFixed(1)}`;
    pen = true;
  });
  return svg("path", { d: path, fill: "none", "stroke-linejoin": "round", ...attributes });
}

// Points as shapes, so that kinds differ without colour.
export function point(x, y, kind, attributes) {
  const r = attributes.r || 5;
  const shapes = {
    square: `M${x - r} ${y - r}h${2 * r}v${2 * r}h-${2 * r}z`,
    diamond: `M${x} ${y - 1.4 * r}L${x + 1.4 * r} ${y}L${x} ${y + 1.4 * r}L${x - 1.4 * r} ${y}z`,
    round: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 -${2 * r} 0z`,
  };
  const { r: _, ...rest } = attributes;
  return svg("path", { d: shapes[kind], ...rest });
}
