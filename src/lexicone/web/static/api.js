// Questions to the server. One in the foreground, where the latest wins; others behind, one after the other.

import { byId } from "./dom.js";

const WINDOW = crypto.getRandomValues(new Uint32Array(4)).join("");
const running = new Map(); // what is under way: a word for it, since when, how to stop it
let open = 0; // pieces of work that may still ask

export class Cancelled extends Error {}

async function read(response) {
  let found = null;
  try { found = await response.json(); } catch { /* not JSON: the server has ended */ }
  if (!response.ok) {
    const failure = new Error(found?.error || `the server answers ${response.status}`);
    failure.status = response.status;
    throw failure;
  }
  return found;
}

async function send(path, options, what, controller) {
  const mark = Symbol(what);
  running.set(mark, { what, since: performance.now(), controller });
  tell();
  try {
    return await read(await fetch(path, { ...options, signal: controller.signal }));
  } catch (error) {
    if (error.name === "AbortError") throw new Cancelled(what);
    if (error instanceof TypeError) throw new Error("the server does not answer; is lexicone explore still running?");
    throw error;
  } finally {
    running.delete(mark);
    tell();
  }
}

export function ask(job, data, what, controller = new AbortController()) {
  const headers = { "Content-Type": "application/json", "X-Window": WINDOW };
  return send(`/api/${job}`, { method: "POST", headers, body: JSON.stringify(data) }, what, controller);
}

export function load(content) {
  const headers = { "Content-Type": "application/octet-stream", "X-Window": WINDOW };
  return send("/api/load", { method: "POST", headers, body: content }, "loading the file", new AbortController());
}

export const start = async () => read(await fetch("/api/start"));

// The latest question wins: while one is under way the next waits, and one that takes long is withdrawn for it.
export function latest(what, work) {
  const soon = 700;
  let current = null;
  let next = null;
  async function go(argument) {
    const controller = new AbortController();
    current = { controller, since: performance.now() };
    open += 1;
    try {
      await work(argument, controller);
    } finally {
      current = null;
      open -= 1;
      tell();
      if (next) { const { argument: waiting } = next; next = null; go(waiting); }
    }
  }
  return {
    what,
    run(argument) {
      if (!current) return go(argument);
      next = { argument };
      const one = current;
      const rest = Math.max(0, soon - (performance.now() - one.since));
      setTimeout(() => { if (current === one && next) one.controller.abort(); }, rest);
      return null;
    },
    stop() { next = null; current?.controller.abort(); },
    get busy() { return current !== null; },
  };
}

let queue = Promise.resolve();

// Behind the foreground, one after the other; what is not wanted any more when its turn comes is left out.
export function behind(wanted, work) {
  open += 1;
  queue = queue.then(async () => {
    try { if (wanted()) await work(); } catch (error) { if (!(error instanceof Cancelled)) fail(error); }
    open -= 1;
    tell();
  });
  return queue;
}

export function fail(error) {
  const place = byId("error");
  place.hidden = false;
  place.textContent = error.message;
}

export function clearError() {
  byId("error").hidden = true;
  byId("error").textContent = "";
}

export function cancelAll() {
  for (const { controller } of running.values()) controller.abort();
}

// The busy sign: not for what is done at once.
function tell() {
  const place = byId("busy");
  const now = performance.now();
  const slow = [...running.values()].filter(({ since }) => now - since > 250);
  document.body.toggleAttribute("data-busy", running.size + open > 0);
  place.hidden = slow.length === 0;
  if (slow.length) {
    const oldest = Math.min(...slow.map(({ since }) => since));
    const words = [...new Set(slow.map(({ what }) => what))].join(", ");
    byId("busy-text").textContent = `${words} … ${Math.round((now - oldest) / 1000)} s`;
  }
  if (running.size) { clearTimeout(tell.timer); tell.timer = setTimeout(tell, 250); }
}
