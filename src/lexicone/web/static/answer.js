// The answer in words: what is reached, what thresholds cost, which are in each other's way, why it flips a coin.

import { byId, el, list, number, percent, sentence, show, table } from "./dom.js";
import { cost } from "./objectives.js";

const name = (page, state, i) => page.mdp.labels[state.order[i]];

export function drawAnswer(page, state) {
  const place = byId("answer-body");
  const { answer } = page;
  if (!answer) { place.replaceChildren(el("p", { class: "quiet" }, page.problem || "…")); return; }
  const parts = [values(page, state), status(page, state), price(page, state), clashes(page, state), coins(page, state), footnote(page)];
  place.replaceChildren(...parts.flat().filter(Boolean));
}

function values(page, state) {
  const { answer } = page;
  const rows = state.order.map((k, i) => {
    const last = i === state.order.length - 1;
    const met = last ? el("span", { class: "badge open" }, "as much as possible")
      : el("span", { class: `badge ${answer.satisfied[i] ? "met" : "missed"}` }, answer.satisfied[i] ? "✓ met" : "✗ missed");
    const row = [page.mdp.labels[k], last ? "" : `at least ${show(answer.thresholds[i])}`, el("strong", {}, show(answer.values[i], 5)), met];
    if (answer.chances) row.push(last ? "" : percent(number(answer.chances[i])));
    return row;
  });
  const heads = ["objective", "threshold", "reached, on average", ""];
  if (answer.chances) heads.push("episodes that meet it");
  return table(heads, rows, "What the best policy reaches");
}

function status(page) {
  const { answer } = page;
  if (answer.status === "optimal") return null;
  return el("p", { class: "conflict" }, answer.message[0].toUpperCase() + answer.message.slice(1), ".");
}

// "If … had to be one unit better (−2 instead of −3), … would get worse by 1.2, to about −6.4."
function price(page, state) {
  const { answer } = page;
  if (!answer.prices || answer.status !== "optimal") return null;
  const free = [];
  const costly = answer.thresholds.map((limit, i) => {
    if (!answer.satisfied[i] || !Number.isFinite(number(limit))) return null;
    const hit = answer.prices[i].map((p, k) => [number(p), k]).filter(([p, k]) => k > i && Math.abs(p) > 1e-9);
    if (!hit.length) {
      if (number(answer.values[i]) - number(limit) > 1e-9) free.push(name(page, state, i));
      return null;
    }
    const most = page.ranges?.[state.order[i]]?.high ?? Infinity;
    const unit = [1, 0.1, 0.01, 0.001].find((u) => number(limit) + u <= most + 1e-9) ?? 0.001;
    const losses = hit.map(([p, k]) => [`${name(page, state, k)} would get worse by ${show(p * unit)}`, `, from ${show(answer.values[k])} to about ${show(number(answer.values[k]) - p * unit)}`]);
    return el("p", { class: "price" }, "What the threshold costs: if ", el("strong", {}, name(page, state, i)),
      ` had to be ${unit === 1 ? "one unit" : show(unit)} better (${show(number(limit) + unit)} instead of ${show(limit)}), `,
      losses.flatMap(([loss, rest], n) => [n ? "; " : "", el("strong", {}, loss), rest]), ".",
      el("span", { class: "quiet" }, i ? "" : " That holds for small steps; “What is possible” shows the whole curve."));
  });
  if (!free.length) return costly;
  return [...costly, sentence("More than is asked for without any cost: ", [list(free)], ".")];
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
    el("p", {}, "Why a coin? At ", el("strong", {}, coin.name), page.mdp.starts.includes(coin.state) ? ", the start," : "", page.mdp.layout ? " (● on the map)" : "", " it goes ", list(coin.sides.map(({ action, share }) => `${action} in ${percent(share)}`)), " of the visits. Compare:"),
    coin.sides.every(({ values: v }) => v) ? el("ul", {}, coin.sides.map((side) => sides(page, state, side))) : null));
  const parts = [first];
  if (others.length) parts.push(el("details", {}, el("summary", {}, `${others.length} more ${others.length > 1 ? "coins" : "coin"}`), others));
  const reached = answer.values.map((v, i) => `${name(page, state, i)} ${show(v)}`).join(", ");
  parts.push(el("p", {}, `A threshold on average lets the coin mix both: so the policy has just enough where a threshold is, and the most of the rest: ${reached}.`));
  if (why.without && asGood(answer, why.without)) {
    parts.push(el("p", {}, "Here it need not: a policy without a coin has as much of what counts: ", el("strong", {}, why.without.map((v, i) => `${name(page, state, i)} ${show(v)}`).join(", ")), "."));
  } else if (why.without) {
    parts.push(el("p", {}, "The best policy that never flips a coin has only ", el("strong", {}, why.without.map((v, i) => `${name(page, state, i)} ${show(v)}`).join(", ")), "."));
  }
  return el("div", { class: "why" }, parts);
}

// Whether another policy has the same where values are cut at thresholds.
function asGood(answer, values) {
  return values.every((value, i) => {
    const cut = (v) => (i < answer.thresholds.length ? Math.min(number(v), number(answer.thresholds[i])) : number(v));
    return Math.abs(cut(value) - cut(answer.values[i])) < 1e-6 * Math.max(1, Math.abs(cut(value)));
  });
}

function footnote(page) {
  const { answer } = page;
  const proof = answer.status === "optimal" && answer.bound ? "exact, with a proof" : answer.status;
  return el("p", { class: "quiet" }, `${proof} · ${show(answer.seconds * 1000, 3)} ms`);
}

export function answerRows(page, state) {
  const rows = [["objective", "threshold", "value", "met", "one more unit costs"]];
  state.order.forEach((k, i) => {
    const last = i === state.order.length - 1;
    rows.push([page.mdp.labels[k], last ? "" : page.answer.thresholds[i], page.answer.values[i], last ? "" : page.answer.satisfied[i], last ? "" : cost(page, state, i)]);
  });
  return rows;
}
