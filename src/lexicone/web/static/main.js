// The page: what it knows, what can be done on it, and what is asked when.

import { ask, behind, cancelAll, Cancelled, clearError, fail, latest, load, start } from "./api.js";
import { drawAnswer } from "./answer.js";
import { criteriaRows, drawCriteria } from "./criteria.js";
import { byId, el } from "./dom.js";
import { forget } from "./editor.js";
import { drawEpisodes, episodeRows, stopPlaying } from "./episodes.js";
import { axesOf, drawFront, firstAxis, frontRows } from "./front.js";
import { drawHow } from "./how.js";
import { drawObjectives } from "./objectives.js";
import { drawPolicy, policyRows } from "./policy.js";
import { drawSource, isMaze } from "./source.js";
import { begin, remember, state, VIEWS, wasChanged } from "./state.js";
import { drawPython, setUpTake } from "./take.js";
import { drawTraining, trainingRows, watchTraining } from "./training.js";
import { VIEW } from "./words.js";

const DRAW = { policy: drawPolicy, front: drawFront, criteria: drawCriteria, episodes: drawEpisodes, training: drawTraining };
const ROWS = { policy: policyRows, front: frontRows, criteria: criteriaRows, episodes: episodeRows, training: trainingRows };
const WORDS = { front: "computing what is possible", criteria: "solving in three ways", episodes: "playing episodes" };

const page = {
  start: null, mdp: null, ranges: null, answer: null, why: null, problem: "", sourceKey: "", editing: false,
  views: {}, files: new Map(),
  question: () => ({ source: state.source, order: state.order, thresholds: state.limits.slice(0, -1), gamma: state.gamma, criterion: state.criterion }),
  rows: () => state.source.drawing || page.mdp?.layout?.rows || ["S..", "...", "..G"],
  rowsOf: (view) => ROWS[view](page, state),
};
window.lexicone = { page, state }; // for tests, and for the curious

const key = (value) => JSON.stringify(value);

function draw() {
  remember();
  byId("answer-body").toggleAttribute("data-old", false);
  drawSource(page, state);
  drawHow(page, state);
  drawObjectives(page, state);
  drawAnswer(page, state);
  drawTabs();
  drawView();
}

function drawView() {
  for (const view of VIEWS) byId(`view-${view}`).hidden = view !== state.view;
  const ready = state.view === "training" || (state.view === "policy" && page.editing) || (page.mdp && state.order);
  const panel = byId(`view-${state.view}`);
  if (ready) DRAW[state.view](page, state, panel);
  else panel.replaceChildren(el("p", { class: "quiet" }, page.problem || "…"));
}

function drawTabs() {
  const box = byId("tabs");
  if (!box.children.length) {
    box.append(...VIEWS.map((view) => el("button", { type: "button", role: "tab", id: `tab-${view}`, "aria-controls": `view-${view}`, onclick: () => page.act.view(view) }, VIEW[view])));
    byId("views").append(...VIEWS.map((view) => el("div", { role: "tabpanel", id: `view-${view}`, "aria-labelledby": `tab-${view}` })));
    box.addEventListener("keydown", (event) => {
      const shown = VIEWS.filter((view) => !byId(`tab-${view}`).hidden);
      const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!move) return;
      const next = shown[(shown.indexOf(state.view) + move + shown.length) % shown.length];
      page.act.view(next);
      byId(`tab-${next}`).focus();
    });
  }
  for (const view of VIEWS) {
    const tab = byId(`tab-${view}`);
    tab.setAttribute("aria-selected", String(view === state.view));
    tab.tabIndex = view === state.view ? 0 : -1;
    tab.hidden = view === "training" && page.start.opened.kind !== "run" && state.view !== "training";
  }
}

// A file that the server has let go is loaded again, if this window still has it.
async function asked(job, data, what, controller) {
  try {
    return await ask(job, data, what, controller);
  } catch (error) {
    const file = error.status === 404 && page.files.get(data.source?.file);
    if (!file) throw error;
    await load(file);
    return ask(job, data, what, controller);
  }
}

// Order, thresholds and discount that suit the model; what the address says is kept where it fits.
function settle() {
  const count = page.mdp.labels.length;
  const all = [...Array(count).keys()];
  if (!state.order || [...state.order].sort((a, b) => a - b).join() !== all.join()) state.order = all;
  const given = state.limits;
  const known = page.mdp.thresholds;
  state.limits = all.map((_, i) => given[i] ?? (given.every((t) => t === null) && known ? known[i] ?? null : null));
  if (state.gamma === null) state.gamma = page.mdp.gamma;
}

async function findRanges(controller) {
  const { source, gamma, order } = state;
  const own = rangesKey();
  const found = await asked("extremes", { source, gamma, last: order[order.length - 1] }, "looking for what is possible", controller);
  if (own === rangesKey() && key(source) === page.sourceKey) Object.assign(page, { ranges: found.ranges, rangesKey: own });
}

const rangesKey = () => key([state.source, state.gamma, state.order?.[state.order.length - 1]]);

function guessLimits() {
  state.order.forEach((k, i) => {
    if (state.limits[i] !== null || i === state.order.length - 1) return;
    const range = page.ranges?.[k];
    const at = range ? range.low + 0.6 * (range.high - range.low) : 0;
    state.limits[i] = range ? Number((Math.round(at / range.step) * range.step).toPrecision(10)) : at;
  });
}

const work = latest("solving", async (_, controller) => {
  try {
    clearError();
    const source = key(state.source);
    if (page.sourceKey !== source) {
      const mdp = await asked("model", { source: state.source }, "reading the model", controller);
      if (key(state.source) !== source) return;
      Object.assign(page, { mdp, sourceKey: source, ranges: null, rangesKey: "", answer: null, why: null, views: {} });
    }
    settle();
    if (state.limits.slice(0, state.order.length - 1).some((t) => t === null || t === undefined)) {
      if (page.rangesKey !== rangesKey()) await findRanges(controller);
      guessLimits();
    }
    const question = page.question();
    const answer = await asked("solve", question, "solving", controller);
    if (key(question) !== key(page.question())) return; // there is a newer one
    Object.assign(page, { answer, why: null, problem: "", questionKey: key(question) });
  } catch (error) {
    if (error instanceof Cancelled) return;
    if (key(state.source) !== page.sourceKey) page.mdp = state.source.drawing ? page.mdp : null;
    if (state.source.drawing && !page.mdp && state.view === "policy") page.editing = true; // to mend it
    Object.assign(page, { answer: null, why: null, problem: error.message });
    if (!page.editing && state.view !== "training") fail(error);
  }
  draw();
  if (page.answer) follow();
});

// What comes after the answer: ranges of sliders, reasons for coins, what the view needs.
function follow() {
  const question = page.question();
  const own = key(question);
  const current = () => own === page.questionKey && page.answer;
  if (page.rangesKey !== rangesKey()) behind(current, async () => { await findRanges(); draw(); });
  if (page.answer.prices || page.answer.satisfied.some((met) => !met)) {
    behind(current, async () => {
      const why = await asked("why", question, "looking for reasons");
      if (current()) { page.why = why; drawAnswer(page, state); drawObjectives(page, state); }
    });
  }
  need(state.view);
  drawPython(page);
}

function viewKey(view) {
  const { source, order, thresholds, gamma, criterion } = page.question();
  if (view === "front") return key(order.length > 2 ? [source, order, thresholds, gamma, axesOf(state, order.length)[0]] : [source, order, gamma]);
  if (view === "criteria") return key([source, order, thresholds, gamma]);
  return key([source, order, thresholds, gamma, criterion, state.seed]);
}

function need(view) {
  if (view === "training") { watchTraining(page, state); return; }
  if (!WORDS[view] || !page.answer) return;
  if (view === "front" && state.x === null && state.order.length > 2) { state.x = firstAxis(page.answer); remember(); }
  const own = viewKey(view);
  if (page.views[view]?.key === own) return;
  const current = () => state.view === view && page.answer && viewKey(view) === own && page.views[view]?.key !== own;
  if (!page.views[view]?.data) drawView();
  behind(current, async () => {
    const [along] = axesOf(state, state.order.length);
    try {
      const data = await asked(view, { ...page.question(), seed: state.seed, along }, WORDS[view]);
      if (viewKey(view) === own) page.views[view] = { key: own, data };
    } catch (error) {
      page.views[view] = { key: error instanceof Cancelled ? "" : own, problem: error instanceof Cancelled ? "cancelled" : error.message };
    }
    drawView();
  });
}

function solveAgain() {
  byId("answer-body").toggleAttribute("data-old", true); // until the new one is there
  work.run();
}

function refresh() {
  draw();
  solveAgain();
}

function reset() {
  Object.assign(state, { order: null, limits: [], gamma: null, x: null, y: null, step: 0, episode: 0 });
  Object.assign(page, { answer: null, why: null, problem: "" });
}

page.act = {
  show: drawView,
  again: refresh,
  view(view) { stopPlaying(); state.view = view; draw(); need(view); },
  choose(name) {
    stopPlaying();
    page.editing = name === "drawing";
    forget();
    if (name === "drawing") state.source = { drawing: page.mdp?.layout && isMaze(state.source) ? page.mdp.layout.rows : ["..G..", ".HH#.", ".....", ".hh..", "S...."], options: { objectives: "path" } };
    else if (name === "opened") state.source = { opened: true };
    else state.source = name.startsWith("maze") ? { task: name, options: { objectives: state.source.options?.objectives || "path" } } : { task: name };
    reset();
    if (page.editing) state.view = "policy";
    refresh();
  },
  option(name, value) {
    state.source = { ...state.source, options: { ...state.source.options, [name]: value } };
    if (name === "objectives") reset();
    refresh();
  },
  edit(on) {
    page.editing = on;
    if (on) {
      if (!state.source.drawing) { forget(); state.source = { drawing: page.rows(), options: state.source.options }; }
      state.view = "policy";
    }
    refresh();
  },
  redraw(rows) { state.source = { drawing: rows, options: state.source.options }; refresh(); },
  async load(file) {
    stopPlaying();
    clearError();
    if (file.size > page.start.limits.file) { fail(new Error(`${file.name} is larger than ${page.start.limits.file / 1048576} MB`)); return; }
    try {
      if (file.name.endsWith(".txt")) {
        const rows = (await file.text()).split(/\r?\n/).map((row) => row.trim()).filter(Boolean);
        const most = page.start.limits.tiles;
        if (!rows.length || rows.length > most || rows.some((row) => row.length > most || /[^.SGhH#]/.test(row))) throw new Error(`${file.name} is no maze: expected up to ${most} rows of up to ${most} tiles . S G h H #`);
        forget();
        state.source = { drawing: rows, options: { objectives: "path" } };
      } else {
        const found = await load(file);
        page.files.set(found.file, file);
        state.source = { file: found.file, name: file.name };
      }
      page.editing = false;
      reset();
      refresh();
    } catch (error) {
      if (!(error instanceof Cancelled)) fail(error);
    }
  },
  move(from, to, focus) {
    if (!state.order) return;
    if (to < 0 || to >= state.order.length) { draw(); return; }
    for (const listed of [state.order, state.limits]) listed.splice(to, 0, ...listed.splice(from, 1));
    Object.assign(page, { answer: null, why: null });
    Object.assign(state, { x: null, y: null, step: 0 });
    guessLimits();
    refresh();
    const row = byId("objectives").children[to];
    (row?.querySelector(`.${focus}:not(:disabled)`) || row?.querySelector(".handle"))?.focus();
  },
  limit(i, value) { if (!state.order) return; state.limits[i] = value; state.step = 0; remember(); drawObjectives(page, state); solveAgain(); },
  take(limits) { if (!state.order) return; limits.forEach((value, i) => { state.limits[i] = Number(value.toPrecision(6)); }); refresh(); },
  axes(x, y) { Object.assign(state, { x, y }); draw(); need("front"); },
  gamma(value) { state.gamma = value; refresh(); },
  criterion(name) { state.criterion = name; state.step = 0; refresh(); },
  step(to) { state.step = to; remember(); drawView(); },
  episode(n) { Object.assign(state, { episode: n, step: 0 }); remember(); drawView(); },
  seed() { Object.assign(state, { seed: state.seed + 1, episode: 0, step: 0 }); draw(); need("episodes"); },
  snapshot(run, at) { Object.assign(state, { run, at }); remember(); drawView(); },
};

function setUpTheme() {
  const kinds = ["auto", "light", "dark"];
  const apply = (kind) => {
    if (kind === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = kind;
    byId("theme").textContent = `◐ ${kind}`;
    byId("theme").setAttribute("aria-label", `Colours: ${kind}`);
  };
  let kind = localStorage.getItem("lexicone-theme");
  kind = kinds.includes(kind) ? kind : "auto";
  apply(kind);
  byId("theme").onclick = () => {
    kind = kinds[(kinds.indexOf(kind) + 1) % kinds.length];
    localStorage.setItem("lexicone-theme", kind);
    apply(kind);
    draw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => draw());
}

async function main() {
  try {
    page.start = await start();
  } catch (error) { fail(error); return; }
  begin(location.hash.slice(1) || page.start.opened.state);
  setUpTheme();
  setUpTake(page, state);
  byId("cancel").onclick = () => {
    const solving = work.busy;
    work.stop();
    cancelAll();
    if (solving) { Object.assign(page, { answer: null, why: null, problem: "Cancelled." }); draw(); }
  };
  byId("skip").onclick = (event) => { event.preventDefault(); byId("answer").focus(); };
  byId("footer").textContent = `lexicone ${page.start.version} · computed on this computer; nothing leaves it`;
  addEventListener("hashchange", () => {
    if (!wasChanged()) return;
    begin(location.hash.slice(1) || page.start.opened.state);
    Object.assign(page, { answer: null, why: null, problem: "", editing: false });
    refresh();
  });
  refresh();
  if (state.view === "training") watchTraining(page, state);
}

main();
