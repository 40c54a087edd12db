// What is possible: the front with the present point on it. A click takes a point's thresholds.

import { chart, middle, point, span } from "./chart.js";
import { choice, el, ink, number, show, svg } from "./dom.js";

export function drawFront(page, state, panel) {
  const { mdp, answer } = page;
  const found = page.views.front?.data;
  const count = state.order.length;
  if (count < 2) { panel.replaceChildren(el("p", {}, "A single objective has no front.")); return; }
  if (!found || !answer) { panel.replaceChildren(el("p", { class: "quiet" }, page.views.front?.problem || "…")); return; }
  const [a, b] = axesOf(state, count);
  const name = (i) => mdp.labels[state.order[i]];
  const numbers = (rows) => rows.map((row) => row.map(number));
  const [every, fixed, curve] = [numbers(found.points), numbers(found.fixed), numbers(found.curve)];
  const here = answer.values.map(number);
  const all = count === 2 ? [...every, ...fixed, here] : [...curve, here];
  const still = count > 2 && all.every((p) => p.every((v, i) => Math.abs(v - here[i]) < 1e-6 * Math.max(1, Math.abs(v))));
  if (still) all.push(...every); // else there would be a single point
  const [across, up] = [still ? middle(all.map((p) => p[a]), here[a]) : span(all.map((p) => p[a])), middle(all.map((p) => p[b]), here[b])];
  const inside = (p) => p[a] >= across[0] && p[a] <= across[1] && p[b] >= up[0] && p[b] <= up[1];
  const points = every.filter(inside);
  const own = chart({ width: 620, height: 380, across, up, xName: `${name(a)} → better`, yName: `${name(b)} → better`, label: `What can be had of ${name(a)} and ${name(b)} together` });
  limitLines(own, state, answer, a, b);
  const line = (count === 2 ? [...points] : [...curve]).sort((p, q) => p[a] - q[a]);
  if (line.length) {
    own.plot.append(svg("path", { d: line.map((p, i) => `${i ? "L" : "M"}${own.x(p[a])} ${own.y(p[b])}`).join(""), fill: "none", stroke: ink("line-1"), "stroke-width": 2.5 }));
  }
  const take = (p) => page.act.take(p.slice(0, -1));
  points.forEach((p, n) => own.plot.append(clickable(own, p, a, b, "round", { r: count === 2 ? 5 : 4, fill: ink("line-1"), "fill-opacity": count === 2 ? 0.75 : 0.3 }, n, take, name)));
  curve.forEach((p, n) => own.plot.append(clickable(own, p, a, b, "round", { r: 5, fill: ink("line-1"), "fill-opacity": 0.85 }, points.length + n, take, name)));
  fixed.forEach((p, n) => own.plot.append(clickable(own, p, a, b, "square", { r: 5, fill: ink("paper"), stroke: ink("line-2"), "stroke-width": 2 }, points.length + curve.length + n, take, name)));
  own.plot.append(point(own.x(here[a]), own.y(here[b]), "diamond", { r: 8, fill: ink("coin"), stroke: ink("paper"), "stroke-width": 1.5, class: "here", "pointer-events": "none" }));
  const options = state.order.map((k, i) => [i, mdp.labels[k]]);
  const parts = [];
  if (count > 2) {
    parts.push(el("div", { class: "row" },
      choice("across", options.slice(0, -1), a, (v) => page.act.axes(Number(v), b === Number(v) ? a : b), { id: "front-x" }),
      choice("up", options, b, (v) => page.act.axes(a === Number(v) ? b : a, Number(v)), { id: "front-y" })));
  }
  parts.push(own.figure, el("div", { class: "legend" },
    el("span", {}, "◆ where you are"), el("span", {}, count === 2 ? "●— the best that coins can mix" : `●— the best as the threshold of ${name(a)} moves and the others stay`), count > 2 && points.length ? el("span", {}, "pale: other points of the front") : null,
    fixed.length ? el("span", {}, "□ without coins") : null, el("span", {}, "┆ threshold")),
  el("p", { class: "hint" }, "Click a point to take its values as thresholds; with keys, Tab leads to the points and Enter takes one."));
  if (still) parts.push(el("p", {}, `Nothing moves: whatever is asked of ${name(a)}, up to ${show(here[a])}, the best stays where it is. Choose another objective across.`));
  const words = explain(found, fixed, here, name, count);
  if (words) parts.push(el("p", {}, words));
  if (all.some((p) => p[b] < up[0])) parts.push(el("p", { class: "quiet" }, `Where ${name(b)} falls very far, the drawing is cut off.`));
  if (found.message) parts.push(el("p", { class: "quiet" }, found.message));
  panel.replaceChildren(...parts);
}

// Which threshold to move at first: one that costs something.
export function firstAxis({ prices }) {
  const found = (prices || []).findIndex((row, i) => row.some((p, k) => k > i && Math.abs(number(p)) > 1e-9));
  return Math.max(0, found);
}

export function axesOf(state, count) {
  const a = state.x !== null && state.x < count - 1 ? state.x : 0; // one with a threshold
  const b = state.y !== null && state.y < count && state.y !== a ? state.y : a === count - 1 ? 0 : count - 1;
  return [a, b];
}

function limitLines(own, state, answer, a, b) {
  const line = { stroke: ink("quiet"), "stroke-dasharray": "5 4", "stroke-width": 1.5 };
  const limit = (i) => (i < answer.thresholds.length ? number(answer.thresholds[i]) : NaN);
  if (Number.isFinite(limit(a))) {
    const x = own.x(limit(a));
    if (x >= own.left && x <= own.right) own.plot.append(svg("line", { x1: x, x2: x, y1: own.top, y2: own.bottom, ...line }));
  }
  if (Number.isFinite(limit(b))) {
    const y = own.y(limit(b));
    if (y >= own.top && y <= own.bottom) own.plot.append(svg("line", { x1: own.left, x2: own.right, y1: y, y2: y, ...line }));
  }
}

function clickable(own, p, a, b, kind, look, n, take, name) {
  const words = p.map((v, i) => `${name(i)} ${show(v)}`).join(", ");
  const mark = point(own.x(p[a]), own.y(p[b]), kind, { ...look, tabindex: "0", role: "button", "aria-label": `Take ${words}`, class: "point", "data-point": n });
  mark.style.cursor = "pointer";
  mark.append(svg("title", {}, words));
  mark.addEventListener("click", () => take(p));
  mark.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") { event.preventDefault(); take(p); }
  });
  return mark;
}

// Why a coin helps, as one sees it: the line between two squares lies above the squares between them.
function explain(found, fixed, here, name, count) {
  if (count !== 2 || !fixed.length) return "";
  const on = fixed.find((p) => Math.abs(p[0] - here[0]) < 1e-6 && Math.abs(p[1] - here[1]) < 1e-6);
  if (on) return "The point where you are is reached without a coin.";
  const left = fixed.filter((p) => p[0] < here[0] - 1e-9);
  const right = fixed.filter((p) => p[0] > here[0] + 1e-9);
  if (!left.length || !right.length) return "";
  return `You are between two paths: a coin mixes them, and so reaches every point of the line between. Squares below the line are what one gets without a coin. The slope of the line is the price: what one more unit of ${name(0)} costs of ${name(1)}.`;
}

export function frontRows(page, state) {
  const found = page.views.front?.data;
  if (!found) return null;
  const labels = state.order.map((k) => page.mdp.labels[k]);
  return [[...labels, "coins"], ...found.points.map((p) => [...p, "allowed"]), ...found.fixed.map((p) => [...p, "none"])];
}
