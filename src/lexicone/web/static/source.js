// Which task: by name, a file, what the command opened, or one's own maze.

import { byId, choice, el, show } from "./dom.js";

const OBJECTIVES = [
  ["path", "tiles + goal, time"],
  ["endpoint", "goal, tiles"],
  ["endpoint-time", "time, tiles"],
  ["goal,tiles,time", "goal, tiles, time"],
];
const NUMBERS = [
  ["high_penalty", "Tile H gives", -5],
  ["low_penalty", "Tile h gives", -4],
  ["goal_reward", "Goal G gives", 1],
  ["slip", "Chance to slip sideways", 0],
];

function names(page) {
  const found = [];
  for (const task of page.start.tasks) {
    for (const variant of task.variants.length ? task.variants : [""]) {
      const name = variant ? `${task.name}:${variant}` : task.name;
      found.push([name, `${task.name.replaceAll("_", " ")}${variant ? ` · ${variant}` : ""}`, task.description]);
    }
  }
  return found;
}

export function isMaze(source) {
  return Boolean(source.drawing) || (source.task || "").split(":")[0] === "maze";
}

export const optionValue = (source, name, otherwise) => source.options?.[name] ?? otherwise;

export function drawSource(page, state) {
  const { source } = state;
  const options = names(page);
  if (page.start.opened.kind) options.unshift(["opened", `opened: ${page.start.opened.label}`]);
  if (source.file) options.unshift(["file", `file: ${source.name}`]);
  options.push(["drawing", "your own maze"]);
  const value = source.opened ? "opened" : source.file ? "file" : source.drawing ? "drawing" : source.task;
  const parts = [
    choice("Task", options, value, (name) => page.act.choose(name), { id: "task" }),
    el("p", { class: "quiet", id: "about" }, about(page)),
  ];
  if (isMaze(source)) {
    const given = optionValue(source, "objectives", "path");
    parts.push(choice("What counts", OBJECTIVES, Array.isArray(given) ? given.join(",") : given, (text) => page.act.option("objectives", text.includes(",") ? text.split(",") : text), { id: "objectives-choice" }));
    parts.push(el("details", { id: "rewards", open: NUMBERS.some(([name]) => source.options && name in source.options) }, el("summary", {}, "Points and slipping"),
      NUMBERS.map(([name, label, otherwise]) => el("label", { class: "field" }, el("span", {}, label),
        el("input", { type: "number", step: "any", value: String(optionValue(source, name, otherwise)), name,
          onchange: (e) => { const v = Number(e.target.value); if (e.target.value !== "" && Number.isFinite(v)) page.act.option(name, v); } })))));
  }
  parts.push(el("div", { class: "row" },
    el("button", { type: "button", id: "edit", "aria-pressed": page.editing ? "true" : "false", hidden: !isMaze(source), onclick: () => page.act.edit(!page.editing) }, page.editing ? "Stop drawing" : "Draw"),
    el("button", { type: "button", id: "load", title: "A model as .npz (mdp.save), or a maze as text", onclick: () => byId("file").click() }, "Load a file …"),
    el("input", { type: "file", id: "file", accept: ".npz,.txt", hidden: true, "aria-label": "Load a model (.npz) or a maze (.txt)",
      onchange: (e) => { const [file] = e.target.files; e.target.value = ""; if (file) page.act.load(file); } })));
  byId("source").replaceChildren(...parts);
}

function about(page) {
  const { mdp } = page;
  if (!mdp) return "";
  const size = `${show(mdp.states)} states, ${mdp.actions.length} actions`;
  return mdp.description ? `${mdp.description[0].toUpperCase()}${mdp.description.slice(1)}. ${size}.` : `${size}.`;
}
