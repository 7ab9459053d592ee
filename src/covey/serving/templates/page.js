"use strict";
/* The words and the requests of all pages of the server; a page's own script comes after it. */
const byId = (id) => document.getElementById(id);
const facts = JSON.parse(byId("facts").textContent);
const classes = facts.task === "classes";

/* All text enters the page as text: names and labels may be anything. */
function make(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === false) continue;
    if (name === "text") made.textContent = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

function number(value) {
  if (value === null || value === undefined) return "not known";
  if (typeof value !== "number") return String(value).replace(/^(\d{4}-\d\d-\d\d)T/, "$1 ");
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e7)
    ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}
function points(share) {
  const value = 100 * share;
  const text = Math.abs(value) < 0.05 ? "0" : Math.abs(value).toFixed(1);
  return `${text === "0" ? "" : value < 0 ? "\u2212" : "+"}${text} points`;
}
const moved = (value) => classes ? points(value)
  : `${value < 0 ? "\u2212" : "+"}${number(Math.abs(value))}`;
// A class as the model writes it.
const label = (value) => typeof value === "boolean" ? (value ? "True" : "False") : String(value);

const unless = (aborted, instead) => (error) => {
  if (error.name === aborted) throw error;
  return instead();
};
async function ask(path, body, signal, more = {}) {
  const headers = { "Content-Type": "application/json", ...more };
  const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body), signal })
    .catch(unless("AbortError", () => { throw new Error("The server does not answer; is it still running?"); }));
  const told = await answer.json().catch(unless("AbortError", () => ({})));
  if (answer.ok) return told;
  throw Object.assign(new Error(told.error || `The server says ${answer.status}.`), { status: answer.status });
}
