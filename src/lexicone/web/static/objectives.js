// The list of objectives: order by dragging or by buttons, a slider for each threshold.

import { byId, el, number, show } from "./dom.js";
import { meaning } from "./words.js";

let structure = "";

export function drawObjectives(page, state) {
  if (!page.mdp || !state.order) { structure = ""; byId("objectives").replaceChildren(); return; }
  const key = JSON.stringify([page.mdp.labels, state.order, page.ranges, page.sourceKey]);
  if (key !== structure) {
    structure = key;
    byId("objectives").replaceChildren(...state.order.map((k, i) => item(page, state, k, i)));
  }
  state.order.forEach((k, i) => update(page, state, k, i));
}

function item(page, state, k, i) {
  const name = page.mdp.labels[k];
  const last = i === state.order.length - 1;
  const move = (to, focus) => page.act.move(i, to, focus);
  const head = el("div", { class: "objective-head" },
    el("button", { type: "button", class: "handle", "aria-label": `Drag ${name}; arrow keys move it`, onpointerdown: (e) => drag(e, page, state, i),
      onkeydown: (e) => { if (e.key === "ArrowUp" || e.key === "ArrowDown") { e.preventDefault(); move(i + (e.key === "ArrowUp" ? -1 : 1), "handle"); } } }, "⠿"),
    el("span", { class: "quiet" }, `${i + 1}.`),
    el("strong", {}, name),
    el("button", { type: "button", class: "up", disabled: i === 0, "aria-label": `Move ${name} up`, onclick: () => move(i - 1, "up") }, "▲"),
    el("button", { type: "button", class: "down", disabled: last, "aria-label": `Move ${name} down`, onclick: () => move(i + 1, "down") }, "▼"));
  const about = meaning(name) ? el("div", { class: "quiet" }, meaning(name)) : null;
  if (last) {
    return el("li", { "data-objective": k }, head, about,
      el("div", {}, "as much as possible ", el("span", { class: "badge open" })));
  }
  const range = page.ranges?.[k];
  const slider = el("input", { type: "range", "aria-label": `Threshold of ${name}`, min: String(range?.min ?? 0), max: String(range?.max ?? 1), step: String(range?.step ?? 0.01), disabled: !range,
    oninput: (e) => page.act.limit(i, Number(Number(e.target.value).toPrecision(10))) });
  const box = el("input", { type: "number", step: "any", "aria-label": `Threshold of ${name}, as a number`,
    onchange: (e) => { const v = Number(e.target.value); if (e.target.value !== "" && Number.isFinite(v)) page.act.limit(i, v); } });
  return el("li", { "data-objective": k }, head, about,
    el("div", { class: "limit" }, el("span", {}, "at least"), box, el("span", { class: "badge open" })),
    slider, el("div", { class: "limit" }, el("span", { class: "quiet" }, range ? `if only ${page.mdp.labels[state.order[state.order.length - 1]]} counted: ${show(range.low)}; at best: ${show(range.high)}` : "")), el("p", { class: "cost" }));
}

function update(page, state, k, i) {
  const row = byId("objectives").children[i];
  if (!row) return;
  const limit = state.limits[i];
  const slider = row.querySelector("input[type=range]");
  const box = row.querySelector("input[type=number]");
  if (slider && limit !== null && document.activeElement !== box) box.value = String(limit);
  if (slider && limit !== null) { slider.value = String(number(limit)); slider.setAttribute("aria-valuetext", show(limit)); }
  const badge = row.querySelector(".badge");
  const answer = page.answer;
  if (!answer) { badge.textContent = ""; return; }
  const value = show(answer.values[i]);
  if (!slider) { badge.textContent = `reached: ${value}`; return; }
  const met = answer.satisfied[i];
  badge.className = `badge ${met ? "met" : "missed"}`;
  badge.textContent = met ? `✓ met: ${value}` : `✗ missed: ${value}`;
  row.querySelector(".cost").textContent = cost(page, state, i);
}

// What more of a threshold costs of those after it: an amount, and pairs of cost and objective. From the two optima where
// they are known, before that from the slope; no amount means that there is no more to have.
export function priceOf(page, state, i) {
  const { answer, why } = page;
  const limit = number(answer?.thresholds[i]);
  if (!answer?.prices || answer.status !== "optimal" || !answer.satisfied[i] || !Number.isFinite(limit)) return null;
  const known = why?.prices?.[i];
  const most = number(known?.most ?? page.ranges?.[state.order[i]]?.high ?? Infinity);
  const rest = most - limit;
  const unit = known?.unit ?? (rest <= 1e-6 * Math.max(1, Math.abs(limit)) ? 0 : [1, 0.1, 0.01].find((u) => u <= rest + 1e-9) ?? 0.001);
  const costs = known ? known.costs.map(number) : answer.prices[i].map((price, k) => (k > i ? number(price) * unit : 0));
  return { unit, exact: Boolean(known), costs: costs.map((loss, k) => [loss, k]).filter(([loss]) => Math.abs(loss) > 1e-9) };
}

export function cost(page, state, i) {
  const found = priceOf(page, state, i);
  if (!found) return "";
  const { unit, exact, costs } = found;
  const { answer, mdp } = page;
  const reached = number(answer.values[i]);
  if (reached - number(answer.thresholds[i]) > 1e-6) return `Up to ${show(reached)}, more costs nothing.`;
  if (!unit) return "More cannot be had.";
  const more = unit === 1 ? "One more unit" : `${show(unit)} more`;
  if (!costs.length) return `${more} costs nothing.`;
  return `${more} costs ${exact ? "" : "about "}${costs.map(([loss, k]) => `${show(loss)} of ${mdp.labels[state.order[k]]}`).join(", ")}.`;
}

// The item follows the pointer from place to place; the order changes when it is let go.
function drag(event, page, state, from) {
  if (event.button !== 0) return;
  event.preventDefault();
  const box = byId("objectives");
  const row = box.children[from];
  const handle = event.target;
  handle.setPointerCapture(event.pointerId);
  row.classList.add("dragged");
  const onMove = (e) => {
    const others = [...box.children].filter((child) => child !== row);
    const before = others.find((child) => {
      const { top, height } = child.getBoundingClientRect();
      return e.clientY < top + height / 2;
    });
    if (before !== row.nextElementSibling) { box.insertBefore(row, before || null); handle.setPointerCapture?.(e.pointerId); }
  };
  const onEnd = () => {
    handle.removeEventListener("pointermove", onMove);
    row.classList.remove("dragged");
    const to = [...box.children].indexOf(row);
    structure = "";
    page.act.move(from, to, "handle");
  };
  handle.addEventListener("pointermove", onMove);
  handle.addEventListener("pointerup", onEnd, { once: true });
  handle.addEventListener("pointercancel", onEnd, { once: true });
}
