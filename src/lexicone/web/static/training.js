// A training: curves of all seeds, live; which objective was improved when; the policy at any time that was kept.

import { ask, Cancelled, fail } from "./api.js";
import { chart, curve, middle } from "./chart.js";
import { byId, el, ink, lineInk, number, show, svg } from "./dom.js";
import { drawMap } from "./map.js";

const EVERY = 2000;
let timer = null;
let found = null;
let kept = null; // the policy that is shown
let wanted = "";

export function watchTraining(page, state) {
  clearTimeout(timer);
  if (state.view !== "training" || page.start.opened.kind !== "run") return;
  const look = async () => {
    try {
      const next = await ask("training", { seen: found?.stamp ?? null }, "reading the training");
      if (!next.unchanged) { found = next; page.act.show(); }
      await lookAtPolicy(page, state);
    } catch (error) {
      if (!(error instanceof Cancelled)) { fail(error); return; }
    }
    if (state.view === "training" && found && found.done < found.updates) timer = setTimeout(look, EVERY);
  };
  look();
}

async function lookAtPolicy(page, state) {
  if (!found?.has_model) return;
  const at = state.at !== null && state.at < found.snapshots.length ? state.at : null;
  const run = Math.min(state.run, found.seeds - 1);
  const key = JSON.stringify([run, at, at === null ? found.stamp : ""]);
  if (key === wanted) return;
  wanted = key;
  kept = await ask("snapshot", { run, at }, "reading a policy");
  page.act.show();
}

export function drawTraining(page, state, panel) {
  if (page.start.opened.kind !== "run") {
    panel.replaceChildren(el("p", {}, "No training was opened. ", el("code", {}, "lexicone explore runs/train"), " shows one, also while it runs."));
    return;
  }
  if (!found) { panel.replaceChildren(el("p", { class: "quiet" }, "…")); return; }
  const focus = document.activeElement?.id;
  const under = found.done < found.updates;
  const parts = [el("p", {}, el("strong", {}, under ? "● running" : "■ finished"), ` · ${found.learner}, ${found.seeds} ${found.seeds === 1 ? "seed" : "seeds"}, ${show(found.done)} of ${show(found.updates)} updates${under ? "; the page looks again every 2 seconds" : ""}`)];
  parts.push(el("div", { class: "panels" }, found.labels.map((_, k) => returns(k))));
  parts.push(el("div", { class: "legend" }, el("span", {}, "thin: each seed; thick: their mean"), el("span", {}, "– – threshold"), found.exact ? el("span", {}, "── exact optimum") : null));
  if (found.improved) parts.push(improved());
  if (found.has_model) parts.push(policy(page, state));
  panel.replaceChildren(...parts);
  if (focus) byId(focus)?.focus({ preventScroll: true });
}

function returns(k) {
  const curves = found.returns?.[k];
  const limit = k < found.thresholds.length ? number(found.thresholds[k]) : NaN;
  const best = found.exact ? number(found.exact[k]) : NaN;
  if (!curves) return el("p", {}, `The learner does not report returns of ${found.labels[k]}.`);
  const at = found.at.map(number);
  const up = middle([...curves.flat().filter((v) => v !== null), limit, best], Number.isFinite(best) ? best : limit);
  const own = chart({ width: 420, height: 270, across: [0, at[at.length - 1] || 1], up, xName: found.over, yName: found.labels[k], label: `Returns of ${found.labels[k]} while training` });
  for (const line of curves) own.plot.append(curve(at, line, own, { stroke: lineInk(k), "stroke-width": 0.8, "stroke-opacity": 0.45, class: "seed" }));
  const mean = at.map((_, i) => { const seen = curves.map((line) => line[i]).filter((v) => v !== null); return seen.length ? seen.reduce((a, b) => a + b, 0) / seen.length : null; });
  own.plot.append(curve(at, mean, own, { stroke: lineInk(k), "stroke-width": 2.6 }));
  const level = (value, words, attributes) => {
    if (!Number.isFinite(value)) return;
    own.plot.append(svg("line", { x1: own.left, x2: own.right, y1: own.y(value), y2: own.y(value), ...attributes }));
    const told = `${words} ${show(value)}`;
    const y = own.y(value) - own.top < 18 ? own.y(value) + 15 : own.y(value) - 5; // inside the frame
    own.plot.append(svg("rect", { x: own.right - 6.4 * told.length - 8, y: y - 11, width: 6.4 * told.length + 8, height: 15, fill: ink("paper"), "fill-opacity": 0.85 }));
    own.plot.append(own.text(own.right - 4, y, told, { "font-size": 11, "text-anchor": "end" }));
  };
  const same = Math.abs(limit - best) < 1e-6;
  level(limit, same ? "threshold, and exact optimum" : "threshold", { stroke: ink("quiet"), "stroke-dasharray": "6 4", "stroke-width": 1.5 });
  if (!same) level(best, "exact optimum", { stroke: ink("coin"), "stroke-width": 1.8 });
  return own.figure;
}

// Shares of updates, stacked: each objective its band.
function improved() {
  const at = found.at.map(number);
  const own = chart({ width: 860, height: 190, across: [0, at[at.length - 1] || 1], up: [0, 1], xName: found.over, yName: "share of updates", label: "Which objective was being improved when" });
  const low = at.map(() => 0);
  found.improved.forEach((shares, k) => {
    const high = shares.map((v, i) => low[i] + (v ?? 0));
    const forth = at.map((x, i) => `${own.x(x).toFixed(1)} ${own.y(high[i]).toFixed(1)}`);
    const back = at.map((x, i) => `${own.x(x).toFixed(1)} ${own.y(low[i]).toFixed(1)}`).reverse();
    own.plot.append(svg("path", { d: `M${[...forth, ...back].join("L")}z`, fill: lineInk(k), "fill-opacity": 0.55, stroke: lineInk(k), "stroke-width": 1 }));
    high.forEach((v, i) => { low[i] = v; });
  });
  return el("div", {}, el("h3", {}, "Which objective was being improved when"), own.figure,
    el("div", { class: "legend" }, found.labels.map((name, k) => el("span", {}, el("i", { class: `k-${(k % 7) + 1}` }), name)), low.some((v) => v < 0.999) ? el("span", {}, "the rest: no direction was found") : null));
}

function policy(page, state) {
  const times = found.snapshots;
  const at = state.at !== null && state.at < times.length ? state.at : times.length;
  const go = (v) => { page.act.snapshot(state.run, v >= times.length ? null : v); lookAtPolicy(page, state); };
  const when = kept ? `after ${show(kept.update)} updates` : "";
  const words = kept ? found.labels.map((name, k) => `${name} ${show(kept.values[k])}${k < kept.satisfied.length ? (kept.satisfied[k] ? " ✓" : " ✗") : ""}`).join(", ") : "…";
  return el("div", { id: "snapshot" }, el("h3", {}, "The policy along the way"),
    el("div", { class: "row" },
      el("label", { class: "field tight" }, el("span", {}, "Seed"), el("select", { id: "run", onchange: (e) => { page.act.snapshot(Number(e.target.value), state.at); lookAtPolicy(page, state); } },
        Array.from({ length: found.seeds }, (_, i) => el("option", { value: String(i), selected: i === state.run }, String(i))))),
      times.length ? el("label", { class: "field tight" }, el("span", {}, "When"), el("input", { type: "range", id: "when", min: "0", max: String(times.length), step: "1", value: String(at), "aria-valuetext": when, oninput: (e) => go(Number(e.target.value)) })) : el("span", { class: "quiet" }, "as it is now; lexicone train --snapshots keeps some on the way"),
      el("span", {}, when)),
    el("p", { role: "status" }, `What it reaches on average, computed exactly: ${words}`),
    el("p", { class: "hint" }, "Arrows: actions of at least 10 %; thicker: more often."),
    kept && page.mdp?.layout ? drawMap(page.mdp, { rows: kept.rows, learned: true, label: `The policy of seed ${state.run} ${when}` }) : null);
}

export function trainingRows() {
  if (!found?.returns) return null;
  const rows = [["seed", found.over, ...found.labels]];
  for (let seed = 0; seed < found.returns[0].length; seed += 1) {
    found.at.forEach((at, i) => rows.push([seed, at, ...found.labels.map((_, k) => found.returns[k][seed][i])]));
  }
  return rows;
}
