// The policy: on the map, or as the states that are visited most and a heat map over what states are made of.

import { byId, choice, el, list, named, number, percent, show, svg, table, ink } from "./dom.js";
import { draft, onKey, paint, tools } from "./editor.js";
import { cursorMark, drawMap, seenOn, tellTile, tileAt } from "./map.js";
import { isMaze, optionValue } from "./source.js";
import { TILES } from "./words.js";

let cursor = [0, 0];
let axes = [0, 1];
const MOST = 25;

export function drawPolicy(page, state, panel) {
  if (page.mdp) page.mdp.visits = page.question().gamma < 1 ? "discounted visits" : "visits per episode";
  if (!page.mdp && !page.editing) { panel.replaceChildren(el("p", { class: "quiet" }, "…")); return; }
  if (page.editing || page.mdp.layout) onMap(page, state, panel);
  else withoutMap(page, panel);
}

function onMap(page, state, panel) {
  const focused = document.activeElement?.id === "map";
  const active = document.activeElement?.id;
  const tool = document.activeElement?.dataset?.tile;
  const mdp = page.editing ? draft(page.mdp, page.rows()) : page.mdp;
  const rows = mdp === page.mdp && page.answer ? page.answer.rows : [];
  cursor = [Math.min(cursor[0], mdp.layout.rows.length - 1), Math.min(cursor[1], mdp.layout.rows[0].length - 1)];
  const says = page.editing ? "The maze; arrow keys move, 1 to 6 set tiles" : "The map with the best policy; arrow keys move, the line below tells";
  const map = drawMap(mdp, { rows, label: says, cursor: focused || page.editing ? cursor : null });
  map.id = "map";
  map.setAttribute("tabindex", "0");
  map.setAttribute("role", "application");
  const teller = el("p", { class: "tellers", role: "status", id: "teller" }, "");
  const tell = (at) => { teller.textContent = at ? tellTile(mdp, rows, ...at) : ""; };
  const mark = () => { map.querySelector(".cursor")?.remove(); map.append(cursorMark(cursor)); tell(cursor); };
  map.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (step) {
      cursor = [Math.max(0, Math.min(mdp.layout.rows.length - 1, cursor[0] + step[0])), Math.max(0, Math.min(mdp.layout.rows[0].length - 1, cursor[1] + step[1]))];
      mark();
    } else if (!page.editing || !onKey(page, event, cursor)) return;
    event.preventDefault();
  });
  map.addEventListener("focus", mark);
  map.addEventListener("pointermove", (event) => {
    const at = tileAt(map, event, mdp.layout.rows);
    if (!page.editing) tell(at);
    else if (at && event.buttons === 1) { cursor = at; paint(page, at); }
  });
  map.addEventListener("pointerdown", (event) => {
    const at = tileAt(map, event, mdp.layout.rows);
    if (!at || event.button !== 0) return;
    cursor = at;
    if (page.editing) { event.preventDefault(); map.focus({ preventScroll: true }); paint(page, at); } else mark();
  });
  if (page.editing) map.style.touchAction = "none";
  const parts = [page.editing ? tools(page) : null, page.problem ? el("p", { class: "conflict" }, page.problem) : null, map, teller, legend(page, state, mdp, rows), states(page)];
  panel.replaceChildren(...parts.filter(Boolean));
  if (focused) map.focus({ preventScroll: true });
  else if (tool) panel.querySelector(`[data-tile="${tool}"]`)?.focus({ preventScroll: true });
  else if (active && !document.activeElement?.id) byId(active)?.focus({ preventScroll: true });
}

function legend(page, state, mdp, shown) {
  const entry = (kind, letter, words) => el("span", {}, el("i", { class: `k-${kind}` }, letter), words);
  const parts = [];
  if (isMaze(state.source)) {
    const points = (name, otherwise) => show(optionValue(state.source, name, otherwise));
    parts.push(entry("begin", "S", "start"), entry("goal", "G", `goal: ${points("goal_reward", 1)}`),
      entry("high", "H", `bad tile: ${points("high_penalty", -5)} on arrival`), entry("low", "h", `bad tile: ${points("low_penalty", -4)} on arrival`), entry("wall", "", "wall"));
  } else {
    parts.push(...(TILES[page.mdp?.task] || []).map((words) => entry(...words)));
  }
  if (!shown.length) return el("div", { class: "legend" }, parts);
  const seen = seenOn(mdp, shown);
  parts.push(el("span", {}, "→ what the best policy does; thicker: more often"));
  if (seen.stacked) parts.push(el("span", {}, "several arrows: it depends on more than the place (see the states below)"));
  if (seen.coin) parts.push(el("span", {}, `● it flips a coin${seen.shares ? "; the shares stand at the arrows" : ""}`));
  return el("div", { class: "legend" }, parts);
}

const acts = (mdp, shares) => list(shares.map(([a, p]) => (shares.length > 1 ? `${mdp.actions[a]} ${percent(p)}` : mdp.actions[a])));

function states(page) {
  if (!page.answer || page.editing) return null;
  const rows = page.answer.rows.slice(0, MOST).map(([s, visits, shares]) => [named(page.mdp, s), show(visits), acts(page.mdp, shares)]);
  const more = page.answer.rows.length > MOST ? `, the first ${MOST} of ${page.answer.rows.length}` : "";
  return el("details", { id: "states", open: !page.mdp.layout }, el("summary", {}, "States that are visited most"),
    table(["state", page.mdp.visits, "what the policy does"], rows, `Most visited first${more}`));
}

function withoutMap(page, panel) {
  const parts = [];
  if (page.problem) parts.push(el("p", { class: "conflict" }, page.problem));
  if (page.answer) parts.push(page.mdp.factors ? heat(page, panel) : bars(page), states(page));
  panel.replaceChildren(...parts);
}

function bars(page) {
  const rows = page.answer.rows.slice(0, 14);
  const most = Math.max(1e-9, ...rows.map(([, visits]) => Math.min(number(visits), 1e9)));
  const height = rows.length * 30 + 26;
  const figure = svg("svg", { class: "figure bars", viewBox: `0 0 760 ${height}`, role: "img", "aria-label": "The states that are visited most, and what is done there" });
  figure.style.maxWidth = "860px";
  figure.append(svg("rect", { x: 0, y: 0, width: 760, height, fill: ink("paper") }));
  const write = (x, y, words, more = {}) => figure.append(svg("text", { x, y, "font-size": 12, fill: ink("text"), "font-family": "sans-serif", ...more }, words));
  write(8, 16, `the most visited states, ${page.mdp.visits}, and what is done there`, { fill: ink("quiet") });
  rows.forEach(([s, visits, shares], i) => {
    const y = 26 + i * 30;
    const width = Math.max(2, (190 * Math.min(number(visits), 1e9)) / most);
    write(8, y + 17, named(page.mdp, s).slice(0, 24));
    figure.append(svg("rect", { x: 170, y: y + 3, width, height: 20, fill: ink("line-1"), "fill-opacity": 0.75 }));
    write(176 + width, y + 17, show(visits, 3));
    if (shares.length > 1) figure.append(svg("circle", { cx: 440, cy: y + 13, r: 5, fill: ink("coin"), class: "coin" }));
    write(452, y + 17, acts(page.mdp, shares).slice(0, 48));
  });
  return figure;
}

// Visits over two of the numbers that make up a state, added up over the others.
function heat(page, panel) {
  const { names, values } = page.mdp.factors;
  axes = axes.map((a, i) => (a < names.length ? a : Math.min(i, names.length - 1)));
  const [a, b] = axes;
  const levels = (f) => [...new Set(values.map((row) => number(row[f])).filter(Number.isFinite))].sort((x, y) => x - y);
  const [xs, ys] = [levels(a), names.length > 1 ? levels(b) : [0]];
  const [columns, lines] = [Math.min(xs.length, 60), Math.min(ys.length, 40)];
  const bin = (all, count, value) => Math.min(count - 1, Math.floor((all.indexOf(value) * count) / all.length));
  const sums = new Map();
  for (const [s, visits] of page.answer.rows) {
    const [x, y] = [number(values[s][a]), names.length > 1 ? number(values[s][b]) : 0];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    const key = `${bin(xs, columns, x)},${bin(ys, lines, y)}`;
    sums.set(key, (sums.get(key) || 0) + Math.min(number(visits), 1e9));
  }
  const most = Math.max(1e-9, ...sums.values());
  const [width, height, left, bottom] = [620, Math.max(120, lines * 22), 90, 46];
  const [w, h] = [(width - left - 12) / columns, height / lines];
  const figure = svg("svg", { class: "figure", viewBox: `0 0 ${width} ${height + bottom + 8}`, role: "img", "aria-label": `How often states are visited, by ${names[a]} and ${names[b] ?? ""}` });
  figure.append(svg("rect", { x: 0, y: 0, width, height: height + bottom + 8, fill: ink("paper") }));
  const shade = (share) => ink(["heat-1", "heat-2", "heat-3"][Math.min(2, Math.floor(share * 3))]);
  for (let i = 0; i < columns; i += 1) {
    for (let j = 0; j < lines; j += 1) {
      const visits = sums.get(`${i},${j}`) || 0;
      figure.append(svg("rect", { x: left + i * w, y: 4 + height - (j + 1) * h, width: w, height: h, fill: visits ? shade(Math.sqrt(visits / most)) : ink("heat-0"), stroke: ink("grid"), "stroke-width": 0.5 },
        svg("title", {}, `${names[a]} ${show(xs[Math.floor((i * xs.length) / columns)])}, ${names[b] ?? ""} ${show(ys[Math.floor((j * ys.length) / lines)])}: ${show(visits, 3)} ${page.mdp.visits}`)));
    }
  }
  const write = (x, y, words, more = {}) => figure.append(svg("text", { x, y, "font-size": 12, fill: ink("text"), "font-family": "sans-serif", ...more }, words));
  const every = Math.ceil(columns / 10);
  for (let i = 0; i < columns; i += every) write(left + (i + 0.5) * w, height + 20, show(xs[Math.floor((i * xs.length) / columns)], 3), { "text-anchor": "middle" });
  const step = Math.ceil(lines / 10);
  if (names.length > 1) for (let j = 0; j < lines; j += step) write(left - 6, 8 + height - (j + 0.5) * h, show(ys[Math.floor((j * ys.length) / lines)], 3), { "text-anchor": "end" });
  write((left + width) / 2, height + 40, names[a], { "text-anchor": "middle", "font-weight": 600 });
  if (names.length > 1) write(14, height / 2, names[b], { "text-anchor": "middle", "font-weight": 600, transform: `rotate(-90 14 ${height / 2})` });
  const options = names.map((name, i) => [i, name]);
  const change = (which) => (value) => { axes[which] = Number(value); drawPolicy(page, null, panel); };
  return el("div", {}, el("div", { class: "row" },
    choice("across", options, a, change(0), { id: "heat-x" }), names.length > 1 ? choice("up", options, b, change(1), { id: "heat-y" }) : null,
    el("span", { class: "quiet" }, "darker (in dark mode brighter): visited more often; roots of visits")), figure);
}

export function policyRows(page) {
  const { mdp, answer } = page;
  if (!answer) return null;
  const rows = [["state", "name", "visits", ...mdp.actions]];
  for (const [s, visits, shares] of answer.rows) {
    const found = Object.fromEntries(shares);
    rows.push([s, named(mdp, s), visits, ...mdp.actions.map((_, a) => found[a] ?? 0)]);
  }
  return rows;
}
