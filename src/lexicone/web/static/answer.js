// The answer in words: what is reached, what thresholds cost, which are in each other's way, why it flips a coin.

import { byId, el, list, number, percent, sentence, show, table } from "./dom.js";
import { placed } from "./map.js";
import { cost, priceOf } from "./objectives.js";

const name = (page, state, i) => page.mdp.labels[state.order[i]];

export function drawAnswer(page, state) {
  const place = byId("answer-body");
  const { answer } = page;
  if (!answer) {
    const again = page.problem ? el("button", { type: "button", id: "again-solve", onclick: page.act.again }, "Try again") : null;
    place.replaceChildren(...[el("p", { class: "quiet" }, page.problem || "…"), again].filter(Boolean));
    return;
  }
  const parts = [values(page, state), status(page, state), price(page, state), clashes(page, state), coins(page, state), footnote(page)];
  place.replaceChildren(...parts.flat().filter(Boolean));
}

function values(page, state) {
  const { answer } = page;
  const rows = state.order.map((k, i) => {
    const last = i === state.order.length - 1;
    const met = last ? "" : el("span", { class: `badge ${answer.satisfied[i] ? "met" : "missed"}` }, answer.satisfied[i] ? "✓ met" : "✗ missed");
    const row = [page.mdp.labels[k], last ? "as much as possible" : `at least ${show(answer.thresholds[i])}`, el("strong", {}, show(answer.values[i], 5)), met];
    if (answer.chances) row.push(last ? "" : percent(number(answer.chances[i])));
    return row;
  });
  const heads = ["objective", "threshold", state.gamma < 1 ? "reached, on average, discounted" : "reached, on average", ""];
  if (answer.chances) heads.push("episodes that meet it");
  return table(heads, rows, "What the best policy reaches");
}

function status(page) {
  const { answer } = page;
  if (answer.status === "optimal") return null;
  return el("p", { class: "conflict" }, answer.message[0].toUpperCase() + answer.message.slice(1), ".");
}

// "If … had to be one unit better (−2 instead of −3), … would get worse by 1.2, from −5.2 to −6.4."
function price(page, state) {
  const { answer } = page;
  const [costly, free, most] = [[], [], []];
  answer.thresholds.forEach((limit, i) => {
    const found = priceOf(page, state, i);
    if (!found) return;
    const { unit, exact, costs } = found;
    if (number(answer.values[i]) - number(limit) > 1e-6) { free.push(name(page, state, i)); return; }
    if (!unit) { most.push(`${name(page, state, i)} ≥ ${show(limit)}`); return; }
    if (!costs.length) return;
    const losses = costs.map(([loss, k]) => [`${name(page, state, k)} would get worse by ${show(loss)}`, `, from ${show(answer.values[k])} to ${exact ? "" : "about "}${show(number(answer.values[k]) - loss)}`]);
    costly.push(el("p", { class: "price" }, "What the threshold costs: if ", el("strong", {}, name(page, state, i)),
      ` had to be ${unit === 1 ? "one unit" : show(unit)} better (${show(number(limit) + unit)} instead of ${show(limit)}), `,
      losses.flatMap(([loss, rest], n) => [n ? "; " : "", el("strong", {}, loss), rest]), ".",
      el("span", { class: "quiet" }, costly.length ? "" : " “What is possible” shows the whole curve.")));
  });
  if (most.length) costly.push(sentence("More cannot be had than ", [list(most)], "."));
  if (free.length) costly.push(sentence("More than is asked for without any cost: ", [list(free)], "."));
  return costly;
}

function clashes(page, state) {
  return (page.why?.conflicts || []).map(({ objective, against, reached, alone }) => {
    const own = name(page, state, objective);
    const limit = show(page.answer.thresholds[objective]);
    if (!against.length) return el("p", { class: "conflict" }, el("strong", {}, own), ` cannot reach ${limit}: no policy has more than ${show(alone)} of it, whatever else is given up.`);
    const others = list(against.map((i) => `${name(page, state, i)} ≥ ${show(page.answer.thresholds[i])}`));
    return el("p", { class: "conflict" }, "In conflict: ", el("strong", {}, `${own} ≥ ${limit}`), ` cannot be had together with ${others}, which ${against.length > 1 ? "come" : "comes"} first. With ${against.length > 1 ? "them" : "it"}, ${own} is at most ${show(reached)}; alone it could be ${show(alone)}.`);
  });
}

function sides(page, state, side) {
  const { thresholds } = page.answer;
  const words = side.values.map((value, i) => {
    const told = `${name(page, state, i)} ${show(value)}`;
    if (i >= thresholds.length) return told;
    const rest = number(value) - number(thresholds[i]);
    if (Math.abs(rest) < 1e-7) return told;
    return `${told} (${rest < 0 ? `misses ${show(thresholds[i])}` : "more than is needed"})`;
  });
  return el("li", {}, "always ", el("strong", {}, side.action), `: ${words.join(", ")}`);
}

function coins(page, state) {
  const { answer, why } = page;
  if (!answer.coins.length) return null;
  if (!why) return el("p", { class: "why" }, `It flips a coin in ${answer.coins.length === 1 ? "one place" : `${answer.coins.length} places`}.`);
  const [first, ...others] = why.coins.map((coin) => el("div", {},
    el("p", {}, "Why a coin? At ", el("strong", {}, placed(page.mdp, coin.state)), page.mdp.starts.includes(coin.state) ? ", the start" : "", page.mdp.layout ? " (● on the map)" : "", ", it goes ", list(coin.sides.map(({ action, share }) => `${action} in ${percent(share)}`)), " of the visits. Compare:"),
    coin.sides.every(({ values: v }) => v) ? el("ul", {}, coin.sides.map((side) => sides(page, state, side))) : null));
  const parts = [first];
  if (others.length) parts.push(el("details", {}, el("summary", {}, `${others.length} more ${others.length > 1 ? "coins" : "coin"}`), others));
  const words = (values, but = -1) => values.map((v, i) => (i === but ? "" : `${name(page, state, i)} ${show(v)}`)).filter(Boolean).join(", ");
  const sure = why.coins.length === 1 && first && why.coins[0].sides.find(({ values: v }) => v && behindIn(answer, v) < 0);
  const worse = why.without ? behindIn(answer, why.without) : null;
  if (sure || (worse !== null && worse < 0)) {
    parts.push(el("p", {}, "Here it need not: ", el("strong", {}, sure ? `always ${sure.action}` : "a policy without a coin"), ` has as much of what counts: ${words(sure ? sure.values : why.without)}.`));
  } else {
    parts.push(el("p", {}, `A threshold on average lets the coin mix both: so the policy has just enough where a threshold is, and the most of the rest: ${words(answer.values)}.`));
    if (worse !== null) parts.push(el("p", {}, "The best policy that never flips a coin has ", el("strong", {}, `${name(page, state, worse)} ${show(why.without[worse])} in place of ${show(answer.values[worse])}`), ` (and ${words(why.without, worse)}).`));
  }
  return el("div", { class: "why" }, parts);
}

// The first objective in which a policy falls behind, where values are cut at thresholds; −1 if there is none.
function behindIn(answer, values) {
  return values.findIndex((value, i) => {
    const cut = (v) => (i < answer.thresholds.length ? Math.min(number(v), number(answer.thresholds[i])) : number(v));
    return cut(answer.values[i]) - cut(value) > 1e-6 * Math.max(1, Math.abs(cut(value)));
  });
}

function footnote(page) {
  const { answer } = page;
  const proof = answer.status === "optimal" && answer.bound ? "exact, with a proof" : answer.status;
  return el("p", { class: "quiet" }, `${proof} · ${show(answer.seconds * 1000, 3)} ms`);
}

export function answerRows(page, state) {
  const rows = [["objective", "threshold", "value", "met", "what more costs"]];
  state.order.forEach((k, i) => {
    const last = i === state.order.length - 1;
    rows.push([page.mdp.labels[k], last ? "" : page.answer.thresholds[i], page.answer.values[i], last ? "" : page.answer.satisfied[i], last ? "" : cost(page, state, i)]);
  });
  return rows;
}
