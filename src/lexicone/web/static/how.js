// What thresholds hold for, and the discount.

import { byId, el } from "./dom.js";
import { CRITERIA } from "./state.js";
import { CRITERION, GAMMA } from "./words.js";

export function drawHow(page, state) {
  const place = byId("how");
  if (!place.children.length) place.append(criterion(page), discount(page));
  for (const radio of place.querySelectorAll("input[type=radio]")) radio.checked = radio.value === state.criterion;
  const [slider, box] = [byId("gamma-slider"), byId("gamma")];
  const gamma = state.gamma ?? 1;
  if (document.activeElement !== box) box.value = String(gamma);
  slider.value = String(gamma);
}

function criterion(page) {
  return el("fieldset", {}, el("legend", {}, "A threshold shall hold …"),
    CRITERIA.map((name) => el("label", { class: "radio" },
      el("input", { type: "radio", name: "criterion", value: name, onchange: () => page.act.criterion(name) }),
      el("span", {}, CRITERION[name][0], el("small", {}, CRITERION[name][1])))));
}

function discount(page) {
  const change = (text) => { const v = Number(text); if (text !== "" && v > 0 && v <= 1) page.act.gamma(v); };
  return el("div", {},
    el("label", { class: "field" }, el("span", {}, "Discount γ"),
      el("input", { type: "number", id: "gamma", min: "0.01", max: "1", step: "any", onchange: (e) => change(e.target.value) })),
    el("input", { type: "range", id: "gamma-slider", min: "0.5", max: "1", step: "0.01", "aria-label": "Discount γ", oninput: (e) => change(e.target.value) }),
    el("p", { class: "hint" }, GAMMA));
}
