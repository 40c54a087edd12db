// A model's map: tiles, where the policy goes, and where it flips a coin. Few elements, so that large maps are quick.

import { ink, list, named, number, percent, show, svg } from "./dom.js";

const CELL = 48;
const STEPS = { up: [-1, 0], down: [1, 0], left: [0, -1], right: [0, 1], north: [-1, 0], south: [1, 0], west: [0, -1], east: [0, 1] };
const KINDS = { "#": "wall", H: "high", h: "low", G: "goal", S: "begin" };
const MANY = 900; // tiles from which on single letters and shares are left out
const ROOM = 5; // around the map, for shares beside arrows

const isLarge = ({ rows }) => rows.length * rows[0].length > MANY;

// What a legend has to explain about a policy on this map.
export function seenOn(mdp, rows) {
  const places = onTiles(mdp, rows);
  return {
    coin: places.some(({ coin }) => coin),
    shares: !isLarge(mdp.layout) && places.some(({ coin, single }) => coin && single),
    stacked: places.some(({ single, coin, actions }) => !single && !coin && actions.size > 1),
  };
}

// A state in words; where it lies if it has no name of its own.
export function placed(mdp, state) {
  const [row, column] = mdp.layout?.positions?.[state] || [-1, -1];
  return mdp.state_names || row < 0 ? named(mdp, state) : `${named(mdp, state)} (row ${row + 1}, column ${column + 1})`;
}

export function stepOf(mdp, action) {
  return STEPS[mdp.actions[action]?.toLowerCase()] || null;
}

// Where states lie: "row,column" to their numbers.
export function statesAt(mdp) {
  if (!mdp.places) {
    mdp.places = new Map();
    mdp.layout.positions.forEach(([row, column], state) => {
      if (row < 0) return;
      const key = `${row},${column}`;
      mdp.places.set(key, [...(mdp.places.get(key) || []), state]);
    });
  }
  return mdp.places;
}

function tiles(rows, group) {
  const paths = {};
  rows.forEach((row, i) => [...row].forEach((tile, j) => {
    const kind = KINDS[tile] || "floor";
    (paths[kind] ||= []).push(`M${j * CELL} ${i * CELL}h${CELL}v${CELL}h-${CELL}z`);
  }));
  const thin = isLarge({ rows });
  for (const [kind, parts] of Object.entries(paths)) {
    group.append(svg("path", { d: parts.join(""), fill: ink(kind), stroke: ink("grid"), "stroke-width": thin ? 0.4 : 1 }));
  }
}

function letters(layout, group) {
  const large = isLarge(layout);
  for (const [i, j, mark] of layout.marks) {
    if (large && !"SG".includes(mark)) continue;
    const big = large ? 40 : mark.length > 3 ? 10 : 13;
    group.append(svg("text", { x: j * CELL + 4, y: i * CELL + (large ? 40 : 14), "font-size": big, fill: ink("text"), "font-family": "sans-serif", "font-weight": 600 }, mark));
  }
}

// What is done on each tile, over all states that lie there: [row, column, visits, [[action, share]], coin].
export function onTiles(mdp, rows) {
  const found = new Map();
  for (const [state, visits, shares] of rows) {
    const [row, column] = mdp.layout.positions[state];
    if (row < 0) continue;
    const key = `${row},${column}`;
    const at = found.get(key) || { row, column, visits: 0, actions: new Map(), coin: false, single: true };
    if (at.visits) at.single = false;
    const weight = Math.min(number(visits), 1e6);
    at.visits += weight;
    for (const [action, share] of shares) at.actions.set(action, (at.actions.get(action) || 0) + weight * share);
    at.coin ||= shares.length > 1;
    found.set(key, at);
  }
  return [...found.values()];
}

function arrow(row, column, [down, right], length, back) {
  const [u, v] = [right, down];
  const [x, y] = [column * CELL + CELL / 2 - u * back, row * CELL + CELL / 2 - v * back];
  const [ex, ey] = [x + u * length, y + v * length];
  const head = 7;
  return `M${x} ${y}L${ex} ${ey}M${ex - u * head + v * head * 0.7} ${ey - v * head + u * head * 0.7}L${ex} ${ey}L${ex - u * head - v * head * 0.7} ${ey - v * head - u * head * 0.7}`;
}

// How often an action is taken: beside its arrow, each direction in a quarter of the tile of its own.
function shareMark(row, column, [down, right], share, others) {
  const side = down < 0 || right > 0 ? 14 : -14;
  const x = column * CELL + CELL / 2 + (!others && right ? 0 : side);
  const y = row * CELL + CELL / 2 + (down < 0 || right < 0 ? -6.5 : 13.5);
  return svg("text", { x, y, "font-size": others > 1 ? 7.5 : 9, "font-weight": 700, "text-anchor": "middle", fill: ink("coin"), "font-family": "sans-serif", stroke: ink("floor"), "stroke-width": 2.5, "paint-order": "stroke" }, `${Math.round(100 * share)} %`);
}

// A learned policy chooses at random nearly everywhere: then only what is likely is drawn, and no coin.
function arrows(mdp, rows, group, learned) {
  const places = onTiles(mdp, rows);
  const most = Math.max(1e-9, ...places.map(({ visits }) => visits));
  const widths = new Map();
  const labels = [];
  const few = !isLarge(mdp.layout);
  for (const { row, column, visits, actions, coin, single } of places) {
    const shown = [...actions].map(([action, weight]) => [action, weight / (visits || 1)]).filter(([, share]) => !learned || share >= 0.1);
    const forked = coin && shown.length > 1;
    for (const [action, share] of shown) {
      const step = stepOf(mdp, action);
      const level = Math.max(1, Math.ceil(5 * Math.sqrt((visits * share) / most)));
      if (step) widths.set(level, `${widths.get(level) || ""}${arrow(row, column, step, forked ? 20 : 24, forked ? 0 : 12)}`);
      else if (few) labels.push([row, column, mdp.actions[action].slice(0, 7), 30 + 11 * labels.filter(([r, c]) => r === row && c === column).length]);
      if (coin && single && few && step && share > 0.005 && !(learned && share > 0.9)) group.append(shareMark(row, column, step, share, shown.length - 1));
    }
    if (coin && !learned) group.append(svg("circle", { cx: column * CELL + CELL / 2, cy: row * CELL + CELL / 2, r: few ? 5 : 16, fill: ink("coin"), class: "coin" }));
  }
  for (const [level, path] of widths) {
    group.prepend(svg("path", { d: path, fill: "none", stroke: ink("arrow"), "stroke-width": 0.8 + level * 0.75, "stroke-opacity": 0.3 + 0.14 * level, "stroke-linecap": "round", "stroke-linejoin": "round" }));
  }
  for (const [row, column, text, y] of labels) {
    group.append(svg("text", { x: column * CELL + 3, y: row * CELL + y, "font-size": 9.5, fill: ink("arrow"), "font-family": "sans-serif" }, text));
  }
}

function trail(mdp, states, group) {
  const points = states.map((s) => mdp.layout.positions[s]).filter(([row]) => row >= 0)
    .map(([row, column]) => `${column * CELL + CELL / 2},${row * CELL + CELL / 2}`);
  if (!points.length) return;
  group.append(svg("polyline", { points: points.join(" "), fill: "none", stroke: ink("trail"), "stroke-width": 4, "stroke-opacity": 0.65, "stroke-linejoin": "round" }));
  const [x, y] = points[points.length - 1].split(",");
  group.append(svg("circle", { cx: x, cy: y, r: 11, fill: ink("trail"), stroke: ink("paper"), "stroke-width": 2, class: "agent" }));
}

// What the map says of a tile, in words.
export function tellTile(mdp, rows, row, column) {
  const tile = mdp.layout.rows[row]?.[column];
  if (tile === undefined) return "";
  const kind = { "#": "wall", H: "bad tile H", h: "bad tile h", G: "goal", S: "start", ".": "free tile" }[tile] || `tile ${tile}`;
  const states = statesAt(mdp).get(`${row},${column}`) || [];
  const here = rows.filter(([state]) => states.includes(state));
  const place = states.length ? named(mdp, states[0]) : `row ${row + 1}, column ${column + 1}`;
  if (!here.length) return `${place}: ${kind}${states.length ? "; the policy does not act there" : ""}`;
  const words = here.slice(0, 3).map(([state, visits, shares]) => {
    const acts = list(shares.map(([a, p]) => (shares.length > 1 ? `${mdp.actions[a]} ${percent(p)}` : mdp.actions[a])));
    const which = here.length > 1 ? `${named(mdp, state)}: ` : "";
    return `${which}${show(visits, 3)} ${mdp.visits}, goes ${acts}${shares.length > 1 ? " (a coin flip)" : ""}`;
  });
  return `${place}: ${kind}; ${words.join("; ")}`;
}

// The map as a figure, with a policy, a walk so far, a frame around a tile.
export function drawMap(mdp, { rows = [], walk = null, cursor = null, label = "map", faint = false, learned = false } = {}) {
  const { layout } = mdp;
  const [height, width] = [layout.rows.length * CELL, layout.rows[0].length * CELL];
  const figure = svg("svg", { class: "figure", viewBox: `${-ROOM} ${-ROOM} ${width + 2 * ROOM} ${height + 2 * ROOM}`, role: "img", "aria-label": label });
  figure.style.maxWidth = `${Math.min(Math.max(width * 1.6, 200), 720)}px`;
  figure.append(svg("rect", { x: -ROOM, y: -ROOM, width: width + 2 * ROOM, height: height + 2 * ROOM, fill: ink("paper") }));
  const group = svg("g");
  tiles(layout.rows, group);
  letters(layout, group);
  figure.append(group);
  const policy = svg("g", { class: "policy", opacity: faint ? 0.4 : null });
  arrows(mdp, rows, policy, learned);
  figure.append(policy);
  if (walk) trail(mdp, walk, figure);
  if (cursor) figure.append(cursorMark(cursor));
  return figure;
}

export function cursorMark([row, column]) {
  return svg("rect", { x: column * CELL + 2, y: row * CELL + 2, width: CELL - 4, height: CELL - 4, fill: "none", stroke: ink("cursor"), "stroke-width": 3, class: "cursor" });
}

// The tile under a pointer.
export function tileAt(figure, event, rows) {
  const box = figure.getBoundingClientRect();
  const view = figure.viewBox.baseVal;
  const column = Math.floor((view.x + ((event.clientX - box.left) / box.width) * view.width) / CELL);
  const row = Math.floor((view.y + ((event.clientY - box.top) / box.height) * view.height) / CELL);
  return row >= 0 && row < rows.length && column >= 0 && column < rows[0].length ? [row, column] : null;
}
