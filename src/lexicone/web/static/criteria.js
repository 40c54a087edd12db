// Expected, episode and deterministic beside each other.

import { el, list, named, number, percent, show, table } from "./dom.js";
import { drawMap } from "./map.js";
import { CRITERION } from "./words.js";

export function drawCriteria(page, state, panel) {
  const found = page.views.criteria?.data;
  if (!found) { panel.replaceChildren(el("p", { class: "quiet" }, page.views.criteria?.problem || "…")); return; }
  const { mdp } = page;
  const name = (i) => mdp.labels[state.order[i]];
  const heads = ["", ...found.criteria.map((row) => CRITERION[row.name][0])];
  const chance = (row, i) => {
    const share = number(row.chances[i]);
    return Number.isNaN(share) ? "—" : `${row.sampled ? "≈ " : ""}${percent(share)}`;
  };
  const rows = state.order.map((_, i) => [`${name(i)}, on average`, ...found.criteria.map((row) => show(row.values[i], 5))]);
  state.limits.slice(0, -1).forEach((limit, i) => rows.push([`episodes with ${name(i)} ≥ ${show(limit)}`, ...found.criteria.map((row) => chance(row, i))]));
  if (state.order.length > 2) rows.push(["episodes that meet all", ...found.criteria.map((row) => chance(row, row.chances.length - 1))]);
  const panels = found.criteria.map((row) => el("div", { class: "panel", "data-criterion": row.name },
    el("h3", {}, CRITERION[row.name][0]),
    el("p", { class: "quiet" }, CRITERION[row.name][1]),
    row.rows === null ? el("p", { class: "conflict" }, `No policy was found: ${row.message}.`) : policy(mdp, row),
    row.message !== "optimal" && row.rows ? el("p", { class: "conflict" }, row.message) : null,
    row.memory ? el("p", { class: "quiet" }, "It has memory; shown is what it does on average.") : null,
    el("button", { type: "button", onclick: () => page.act.criterion(row.name), disabled: row.name === state.criterion }, row.name === state.criterion ? "chosen" : "Choose this meaning")));
  panel.replaceChildren(
    el("p", {}, "The same thresholds, understood in three ways. A mean may be met although many episodes miss it."),
    table(heads, rows, "What the best policy of each has"), el("div", { class: "panels" }, panels));
}

function policy(mdp, row) {
  if (mdp.layout) return drawMap(mdp, { rows: row.rows, label: `Policy: ${CRITERION[row.name][0]}` });
  return el("ul", {}, row.rows.slice(0, 8).map(([s, visits, shares]) =>
    el("li", {}, `${named(mdp, s)}: ${list(shares.map(([a, p]) => (shares.length > 1 ? `${mdp.actions[a]} ${percent(p)}` : mdp.actions[a])))} (${show(visits, 3)}×)`)));
}

export function criteriaRows(page, state) {
  const found = page.views.criteria?.data;
  if (!found) return null;
  const labels = state.order.map((k) => page.mdp.labels[k]);
  return [["criterion", ...labels, ...labels.slice(0, -1).map((l) => `P(${l} met)`), "P(all met)"],
    ...found.criteria.map((row) => [row.name, ...row.values, ...row.chances])];
}
