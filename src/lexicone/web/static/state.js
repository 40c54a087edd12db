// What the page shows, all of it in the part of the address behind "#": so a link holds it, and a reload keeps it.

export const BEGIN = "task=maze:extended&objectives=path&t=-3";
const OPTIONS = ["objectives", "slip", "high_penalty", "low_penalty", "goal_reward"];
export const VIEWS = ["policy", "front", "criteria", "episodes", "training"];
export const CRITERIA = ["expected", "episode", "deterministic"];

export const state = {};

function whole(text, most) {
  const value = Number(text);
  return text !== "" && Number.isInteger(value) && value >= 0 && value <= most ? value : null;
}

function readThreshold(text) {
  if (text === "inf" || text === "-inf") return text;
  const value = Number(text);
  return text !== "" && Number.isFinite(value) ? value : null;
}

function readSource(given) {
  if (given.get("opened")) return { opened: true };
  const file = given.get("file");
  if (file && /^[0-9a-f]{64}$/.test(file)) {
    return { file, name: (given.get("name") || "model.npz").slice(0, 200) };
  }
  const options = {};
  for (const name of OPTIONS) {
    const text = given.get(name);
    if (text === null || text === "") continue;
    if (name === "objectives") options[name] = text.includes(",") ? text.split(",") : text;
    else if (Number.isFinite(Number(text))) options[name] = Number(text);
  }
  const drawing = given.get("drawing");
  if (drawing !== null) return { drawing: drawing.split("/"), options };
  const task = given.get("task") || "maze:extended";
  return task.split(":")[0] === "maze" ? { task, options } : { task };
}

// From the text behind "#".
export function decode(text) {
  const given = new URLSearchParams(text || BEGIN);
  const order = (given.get("order") || "").split(",").filter(Boolean).map(Number);
  const limits = (given.get("t") || "").split(",").map((part) => readThreshold(part.trim()));
  const gamma = Number(given.get("gamma"));
  const view = given.get("view");
  const criterion = given.get("criterion");
  return {
    source: readSource(given),
    order: order.length && order.every((k) => Number.isInteger(k) && k >= 0 && k < 64) ? order : null,
    limits,
    gamma: given.has("gamma") && gamma > 0 && gamma <= 1 ? gamma : null,
    criterion: CRITERIA.includes(criterion) ? criterion : "expected",
    view: VIEWS.includes(view) ? view : "policy",
    x: whole(given.get("x") ?? "", 63),
    y: whole(given.get("y") ?? "", 63),
    seed: whole(given.get("seed") ?? "0", 4294967295) ?? 0,
    episode: whole(given.get("episode") ?? "0", 999) ?? 0,
    step: whole(given.get("step") ?? "0", 99999) ?? 0,
    run: whole(given.get("run") ?? "0", 9999) ?? 0,
    at: given.has("at") ? whole(given.get("at"), 99999) : null,
  };
}

export function encode(now) {
  const given = [];
  const add = (name, value) => given.push(`${name}=${encodeURIComponent(value).replace(/%2C/g, ",").replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2B/g, "%2B")}`);
  const { source } = now;
  if (source.opened) add("opened", 1);
  else if (source.file) { add("file", source.file); add("name", source.name); }
  else if (source.drawing) add("drawing", source.drawing.join("/"));
  else add("task", source.task);
  for (const [name, value] of Object.entries(source.options || {})) add(name, value);
  if (now.order && now.order.some((k, i) => k !== i)) add("order", now.order.join(","));
  if (now.limits.some((t) => t !== null)) add("t", now.limits.map((t) => (t === null ? "" : t)).join(","));
  if (now.gamma !== null) add("gamma", now.gamma);
  if (now.criterion !== "expected") add("criterion", now.criterion);
  if (now.view !== "policy") add("view", now.view);
  for (const name of ["x", "y", "at"]) if (now[name] !== null) add(name, now[name]);
  for (const name of ["seed", "episode", "step", "run"]) if (now[name]) add(name, now[name]);
  return given.join("&");
}

let written = "";

export function begin(text) {
  Object.assign(state, decode(text));
  written = text;
}

// Writes the state into the address; no entry in the history for each move of a slider.
export function remember() {
  const text = encode(state);
  if (text === written) return;
  written = text;
  history.replaceState(null, "", `#${text}`);
}

// Whether the address was changed by someone else: a link was pasted, or one went back.
export function wasChanged() {
  const plain = (text) => new URLSearchParams(text).toString();
  return plain(location.hash.slice(1)) !== plain(written);
}

export const link = () => `${location.origin}${location.pathname}#${encode(state)}`;
