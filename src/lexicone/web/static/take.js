// Take it along: the link, the figures as PNG and SVG, the numbers as CSV, the lines of Python.

import { answerRows } from "./answer.js";
import { ask, Cancelled, fail } from "./api.js";
import { byId, svg } from "./dom.js";
import { link } from "./state.js";

export function download(name, kind, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function say(text) {
  byId("take-said").textContent = text;
}

// All figures of the view beside each other, as one drawing.
export function figureOf(panel) {
  const figures = [...panel.querySelectorAll("svg.figure")];
  if (!figures.length) return null;
  const high = 420;
  let x = 0;
  const parts = figures.map((figure) => {
    const view = figure.viewBox.baseVal;
    const scale = high / view.height;
    const copy = figure.cloneNode(true);
    for (const [name, value] of Object.entries({ x, y: 0, width: view.width * scale, height: high })) copy.setAttribute(name, value);
    for (const name of ["class", "style", "tabindex", "aria-describedby"]) copy.removeAttribute(name);
    x += view.width * scale + 16;
    return copy;
  });
  return svg("svg", { xmlns: "http://www.w3.org/2000/svg", width: Math.ceil(x - 16), height: high, viewBox: `0 0 ${Math.ceil(x - 16)} ${high}` }, parts);
}

function asText(figure) {
  return new XMLSerializer().serializeToString(figure);
}

async function asPng(figure) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asText(figure))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  const scale = Math.min(2, 8000 / image.width);
  canvas.width = image.width * scale;
  canvas.height = image.height * scale;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => { canvas.toBlob(done, "image/png"); });
}

// A cell; what a spreadsheet would take for a formula is made text.
function cell(value) {
  let text = value === null || value === undefined ? "" : String(value);
  if (typeof value === "string" && /^[=+\-@\t]/.test(text) && !Number.isFinite(Number(text))) text = `'${text}`;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export const csv = (rows) => `${rows.map((row) => row.map(cell).join(",")).join("\n")}\n`;

export function setUpTake(page, state) {
  const panel = () => byId(`view-${state.view}`);
  const file = (ending) => `lexicone-${state.view}.${ending}`;
  byId("take-link").onclick = async () => {
    try {
      await navigator.clipboard.writeText(link());
      say("copied: the link holds all that you see");
    } catch {
      say("the address above is the link");
    }
  };
  byId("take-svg").onclick = () => {
    const figure = figureOf(panel());
    if (!figure) { say("this view has no figure"); return; }
    download(file("svg"), "image/svg+xml", asText(figure));
  };
  byId("take-png").onclick = async () => {
    const figure = figureOf(panel());
    if (!figure) { say("this view has no figure"); return; }
    download(file("png"), "image/png", await asPng(figure));
  };
  byId("take-csv").onclick = () => {
    const rows = page.rowsOf(state.view);
    if (!rows) { say("there are no numbers yet"); return; }
    download(file("csv"), "text/csv", csv(rows));
  };
  byId("take-answer").onclick = () => {
    if (!page.answer) { say("there is no answer yet"); return; }
    download("lexicone-answer.csv", "text/csv", csv(answerRows(page, state)));
  };
  byId("take-python").onclick = async (event) => {
    const open = byId("python").hidden;
    event.target.setAttribute("aria-expanded", String(open));
    byId("python").hidden = !open;
    if (open) await drawPython(page);
  };
}

export async function drawPython(page) {
  if (byId("python").hidden || !page.answer) return;
  try {
    byId("python").textContent = (await ask("lines", page.question(), "writing Python")).script;
  } catch (error) {
    if (!(error instanceof Cancelled)) fail(error);
  }
}
