// Episodes step by step, with what is left of each threshold's budget.

import { chart, curve, span } from "./chart.js";
import { byId, el, ink, lineInk, named, number, percent, show, svg, table } from "./dom.js";
import { drawMap, placed } from "./map.js";

let timer = null;

export function stopPlaying() {
  clearInterval(timer);
  timer = null;
}

export function drawEpisodes(page, state, panel) {
  const found = page.views.episodes?.data;
  if (!found) { stopPlaying(); panel.replaceChildren(el("p", { class: "quiet" }, page.views.episodes?.problem || "…")); return; }
  const focus = document.activeElement?.id;
  const { mdp } = page;
  const all = found.episodes;
  const which = Math.min(state.episode, all.length - 1);
  const episode = all[which];
  const step = Math.min(state.step, episode.steps.length);
  const walk = [...episode.steps.slice(0, step).map(([s]) => s), step < episode.steps.length ? episode.steps[step][0] : episode.last];
  const go = (to) => page.act.step(Math.max(0, Math.min(episode.steps.length, to)));
  const play = () => {
    if (timer) { stopPlaying(); page.act.show(); return; }
    if (step >= episode.steps.length) go(0);
    timer = setInterval(() => { if (state.step >= episode.steps.length) { stopPlaying(); page.act.show(); } else go(state.step + 1); }, 350);
    page.act.show();
  };
  const button = (id, words, act, off, label) => el("button", { type: "button", id, disabled: off, onclick: act, "aria-label": label || null }, words);
  const controls = el("div", { class: "row" },
    el("label", { class: "field tight" }, el("span", {}, "Episode"), el("select", { id: "episode", onchange: (e) => { stopPlaying(); page.act.episode(Number(e.target.value)); } },
      all.map((_, i) => el("option", { value: String(i), selected: i === which }, `${i + 1} of ${all.length}`)))),
    button("step-first", "|◀", () => go(0), step === 0, "To the first step"), button("step-back", "◀ step", () => go(step - 1), step === 0),
    button("play", timer ? "⏸ pause" : "▶ play", play, false), button("step-on", "step ▶", () => go(step + 1), step >= episode.steps.length),
    button("step-last", "▶|", () => go(episode.steps.length), step >= episode.steps.length, "To the last step"),
    button("again", "Other episodes", () => { stopPlaying(); page.act.seed(); }, false));
  const total = step ? episode.steps[step - 1][3].map(number) : state.order.map(() => 0);
  const parts = [tally(page, state, all), controls, told(mdp, episode, step, walk), budgets(page, state, total)];
  parts.push(el("div", { class: "panels" },
    mdp.layout ? drawMap(mdp, { rows: page.answer.rows, faint: true, walk, label: "Where the episode is" }) : trail(mdp, walk),
    course(page, state, episode, step)));
  panel.replaceChildren(...parts);
  if (focus) byId(focus)?.focus({ preventScroll: true });
}

function tally(page, state, all) {
  const kinds = new Map();
  for (const episode of all) {
    const key = episode.total.map((v) => show(v)).join(", ");
    kinds.set(key, (kinds.get(key) || 0) + 1);
  }
  const sorted = [...kinds].sort((p, q) => q[1] - p[1]);
  const names = state.order.map((k) => page.mdp.labels[k]).join(", ");
  const words = sorted.slice(0, 4).map(([key, n]) => `${n}× (${key})`).join(", ") + (sorted.length > 4 ? ", …" : "");
  const met = all.filter((episode) => episode.met.every(Boolean)).length;
  const mean = state.order.map((_, i) => show(all.reduce((sum, e) => sum + number(e.total[i]), 0) / all.length, 3)).join(", ");
  return el("p", {}, `${all.length} episodes of the best policy; totals (${names}): ${words}. Mean (${mean}). `, el("strong", {}, `${percent(met / all.length)} of them meet every threshold`), page.answer?.criterion === "expected" && met < all.length ? ": a threshold on average does not promise more." : ".");
}

function told(mdp, episode, step, walk) {
  const at = placed(mdp, walk[walk.length - 1]);
  const steps = `${step} ${step === 1 ? "step" : "steps"}`;
  if (step >= episode.steps.length) return el("p", { class: "tellers", role: "status" }, `After ${steps}, at ${at}: the episode ${episode.ending}.`);
  const action = mdp.actions[episode.steps[step][1]];
  return el("p", { class: "tellers", role: "status" }, `After ${steps}, at ${at}: next ${action}.`);
}

// What is left before a threshold is missed; below 0 it still has to be earned, or is lost.
function budgets(page, state, total) {
  const { answer } = page;
  const rows = answer.thresholds.map((limit, i) => {
    const rest = total[i] - number(limit);
    const name = page.mdp.labels[state.order[i]];
    if (!Number.isFinite(rest)) return null;
    const full = Math.max(Math.abs(number(limit)), Math.abs(rest), 1e-9);
    return el("div", { class: "budget" }, el("span", {}, name),
      el("meter", { min: "0", max: String(full), value: String(Math.max(0, rest)), "aria-label": `Budget of ${name}` }),
      el("span", { class: `badge ${rest >= -1e-9 ? "met" : "missed"}` }, rest >= -1e-9 ? `${show(total[i])}: ${show(Math.max(0, rest))} left` : `${show(total[i])}: ${show(-rest)} short`));
  });
  return el("div", { "aria-label": "Budgets" }, el("h3", {}, "Budgets: what may still be lost before a threshold is missed"), rows);
}

function course(page, state, episode, step) {
  const totals = [state.order.map(() => 0), ...episode.steps.map((s) => s[3].map(number))];
  const limits = page.answer.thresholds.map(number).filter(Number.isFinite);
  const own = chart({ width: 420, height: 280, across: [0, Math.max(1, totals.length - 1)], up: span([...totals.flat(), ...limits]), whole: true, xName: "step", yName: "total so far", label: "Totals of the episode" });
  const xs = totals.map((_, i) => i);
  state.order.forEach((_, i) => {
    own.plot.append(curve(xs, totals.map((t) => t[i]), own, { stroke: lineInk(i), "stroke-width": 2.5, "stroke-dasharray": i % 2 ? "7 3" : null }));
    if (i < limits.length) own.plot.append(svg("line", { x1: own.left, x2: own.right, y1: own.y(limits[i]), y2: own.y(limits[i]), stroke: lineInk(i), "stroke-dasharray": "2 4", "stroke-width": 1.5 }));
  });
  own.plot.append(svg("line", { x1: own.x(step), x2: own.x(step), y1: own.top, y2: own.bottom, stroke: ink("trail"), "stroke-width": 2 }));
  return el("div", {}, own.figure, el("div", { class: "legend" },
    state.order.map((k, i) => el("span", {}, el("i", { class: `k-${(i % 7) + 1}` }), `${page.mdp.labels[k]} ${i % 2 ? "– –" : "──"}`)), el("span", {}, "┈ its threshold")));
}

function trail(mdp, walk) {
  const rows = walk.slice(-12).map((s, i) => [String(Math.max(0, walk.length - 12) + i), named(mdp, s)]);
  return table(["step", "state"], rows, "Where the episode was");
}

export function episodeRows(page, state) {
  const found = page.views.episodes?.data;
  if (!found) return null;
  const labels = state.order.map((k) => page.mdp.labels[k]);
  const rows = [["episode", "step", "state", "action", ...labels, ...labels.map((l) => `total ${l}`)]];
  found.episodes.forEach((episode, n) => episode.steps.forEach(([s, a, reward, total], t) => rows.push([n + 1, t + 1, named(page.mdp, s), page.mdp.actions[a], ...reward, ...total])));
  return rows;
}
