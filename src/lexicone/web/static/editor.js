// Drawing a maze: tools, painting with pointer or keys, undo, size, and the maze as text.

import { el } from "./dom.js";
import { download } from "./take.js";

export const TOOLS = [
  [".", "free", "1"], ["#", "wall", "2"], ["S", "start", "3"], ["G", "goal", "4"], ["h", "bad h", "5"], ["H", "bad H", "6"],
];
const past = [];
const future = [];
let tool = "#";

const marksOf = (rows) => rows.flatMap((row, i) => [...row].map((tile, j) => [i, j, tile])).filter(([, , tile]) => !".#".includes(tile));

// The maze as it is drawn, before the server has seen it: no policy on tiles that have moved.
export function draft(mdp, rows) {
  const same = mdp && mdp.layout && mdp.layout.rows.join("/") === rows.join("/");
  return same ? mdp : { ...mdp, places: null, state_names: null, layout: { rows, marks: marksOf(rows), positions: [] } };
}

function change(page, rows) {
  past.push(page.rows());
  if (past.length > 500) past.shift();
  future.length = 0;
  page.act.redraw(rows);
}

export function paint(page, [row, column], tile = tool) {
  const rows = page.rows();
  if (rows[row][column] === tile) return;
  change(page, rows.map((line, i) => (i === row ? line.slice(0, column) + tile + line.slice(column + 1) : line)));
}

function step(page, from, to) {
  if (!from.length) return;
  to.push(page.rows());
  page.act.redraw(from.pop());
}

export const undo = (page) => step(page, past, future);
export const redo = (page) => step(page, future, past);
export function forget() { past.length = 0; future.length = 0; }

function resize(page, height, width) {
  const most = page.start.limits.tiles;
  if (height < 1 || width < 1 || height > most || width > most) return;
  const rows = page.rows();
  const fit = (row) => row.slice(0, width).padEnd(width, ".");
  const kept = rows.slice(Math.max(0, rows.length - height)).map(fit); // rows come and go at the top
  change(page, [...Array(height - kept.length).fill(".".repeat(width)), ...kept]);
}

export function tools(page) {
  const rows = page.rows();
  const [height, width] = [rows.length, rows[0].length];
  const size = (label, h, w) => el("button", { type: "button", onclick: () => resize(page, h, w), "aria-label": label[1] }, label[0]);
  return el("div", { class: "editor" },
    el("div", { class: "row tools", role: "group", "aria-label": "Tiles to draw with" },
      TOOLS.map(([tile, label, key]) => el("button", { type: "button", "data-tile": tile, "aria-pressed": tool === tile ? "true" : "false", title: `key ${key}`, onclick: () => { tool = tile; page.act.show(); } }, `${key} ${label}`))),
    el("div", { class: "row" },
      el("button", { type: "button", id: "undo", disabled: !past.length, onclick: () => undo(page) }, "↶ Undo"),
      el("button", { type: "button", id: "redo", disabled: !future.length, onclick: () => redo(page) }, "↷ Redo"),
      size(["− row", "One row less"], height - 1, width), size(["+ row", "One row more"], height + 1, width),
      size(["− column", "One column less"], height, width - 1), size(["+ column", "One column more"], height, width + 1),
      el("button", { type: "button", id: "save-text", onclick: () => download("maze.txt", "text/plain", `${page.rows().join("\n")}\n`) }, "Save as text")),
    el("p", { class: "hint" }, "Click or drag on tiles. With keys: the arrow keys move the frame, 1 to 6 set a tile, space sets the chosen one, Ctrl+Z takes it back."));
}

// Keys on the map while drawing; whether the key was used.
export function onKey(page, event, cursor) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") {
    (event.shiftKey ? redo : undo)(page);
    return true;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const own = TOOLS.find(([tile, , key]) => key === event.key || (event.key.length === 1 && tile === event.key));
  if (own) { paint(page, cursor, own[0]); return true; }
  if (event.key === " " || event.key === "Enter") { paint(page, cursor); return true; }
  return false;
}
