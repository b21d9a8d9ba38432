// The page's frame: talking to the server, the list with its search, routes, keys.
// What is open beside the list is in note.js; what is drawn is in draw.js.

import { showArchive, showChanges, showInbox, showNote, showNew } from "./note.js";
import { showHealth, showPictures } from "./draw.js";

export const $ = (id) => document.getElementById(id);

// An element: h("p.quiet", {title: "…"}, "text", child). Text is always text, never HTML.
export function h(name, attrs, ...children) {
  const [tag, ...classes] = name.split(".");
  const one = document.createElement(tag);
  if (classes.length) one.className = classes.join(" ");
  for (const [key, value] of Object.entries(attrs || {})) {
    if (key.startsWith("on")) one.addEventListener(key.slice(2), value);
    else if (value === true) one.setAttribute(key, "");
    else if (value !== false && value != null) one.setAttribute(key, value);
  }
  one.append(...children.flat(Infinity).filter((child) => child != null && child !== false && child !== ""));
  return one;
}

// The one door for HTML: what the server rendered and sanitised.
const door = window.trustedTypes
  ? window.trustedTypes.createPolicy("co", { createHTML: (html) => html })
  : { createHTML: (html) => html };
export function rendered(html, name = "div.prose") {
  const one = h(name);
  one.innerHTML = door.createHTML(html);
  for (const wide of one.querySelectorAll("pre, table")) wide.tabIndex = 0; // so that keys scroll it
  return one;
}

// What is drawn after waiting is drawn only if nothing else took the pane meanwhile.
let turns = 0;
export function turn() {
  const mine = ++turns;
  return () => mine === turns;
}

// ---- The server

export class Refused extends Error {
  constructor(status, told) {
    const why = told.error || "The server did not answer.";
    super(why[0].toUpperCase() + why.slice(1));
    this.status = status;
    this.now = told.now;
  }
}

const GONE = "The server does not answer: it was stopped. Start `co web` again and open the address that it prints; what you write stays here meanwhile.";
const LOST = { 401: "Open the address that `co web` printed." };

async function answer(asking) {
  const response = await asking.catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { error: GONE });
  });
  const told = await response.json().catch(() => ({ error: LOST[response.status] || `The server could not do that (${response.status}).` }));
  if (!response.ok) throw new Refused(response.status, told);
  return told;
}

export async function get(name, asked = {}, signal = undefined) {
  const said = Object.entries(asked).filter(([, value]) => value !== "" && value != null);
  return answer(fetch(`/api/${name}?${new URLSearchParams(said)}`, { signal }));
}

export async function post(name, said) {
  const headers = { "Content-Type": "application/json", "X-Co": "page" };
  return answer(fetch(`/api/${name}`, { method: "POST", headers, body: JSON.stringify(said) }));
}

// ---- What was done, and taking it back

let last = null; // the last change made here
let fades = 0;

export function tell(text, change = null) {
  if (change && change.change) last = change;
  const undoable = change && change.change;
  $("toast").replaceChildren(h("p", {}, text, undoable && h("button.quiet", { type: "button", onclick: undo }, "Undo")));
  clearTimeout(fades);
  fades = setTimeout(() => $("toast").replaceChildren(), 8000);
}

// Do something and say what came of it; null when it was refused.
export async function act(name, said) {
  try {
    const done = await post(name, said);
    tell(done.display, done);
    await refresh();
    return done;
  } catch (error) {
    if (error.status === 409 && error.now) throw error; // whoever asked shows both
    tell(error.message);
    return null;
  }
}

async function undo() {
  if (!last) return tell("Nothing was done here yet.");
  const { scope, change } = last;
  last = null;
  await act("undo", { scope, n: String(change) });
}

// ---- The list

const FILTERS = {
  kind: ["Kind", { memory: "Memories", article: "Articles" }],
  scope: ["Notebook", { project: "This project", user: "Yours" }],
  category: ["Category", {}],
  tag: ["Tag", {}],
  days: ["Age", { 7: "This week", 31: "This month", 366: "This year" }],
  state: ["State", { protected: "Protected", pinned: "Pinned", stale: "Outdated", outside: "From outside" }],
};
let rows = [];
let asking = null;

function drawFilters(facets) {
  for (const [name, [label, fixed]] of Object.entries(FILTERS)) {
    const counts = { category: facets.categories, tag: facets.tags }[name];
    const known = $(`by-${name}`);
    const options = counts ? Object.fromEntries(Object.entries(counts).map(([k, n]) => [k, `${k} (${n})`])) : fixed;
    const made = Object.entries(options).map(([value, text]) => h("option", { value }, text));
    const select = known || h("select", { id: `by-${name}`, "aria-label": label, onchange: () => load() });
    const chosen = select.value;
    select.replaceChildren(h("option", { value: "" }, label), ...made);
    select.value = [...select.options].some((one) => one.value === chosen) ? chosen : "";
    if (!known) $("filters").append(select);
  }
}

function asked() {
  const chosen = Object.keys(FILTERS).map((name) => [name, $(`by-${name}`)?.value || ""]);
  for (const [name, value] of chosen) $(`by-${name}`)?.classList.toggle("chosen", value !== "");
  return Object.fromEntries(chosen);
}

export function badges(row) {
  const found = [
    row.untrusted && ["not approved", "warn", "It came from elsewhere, and nobody here agreed to it"],
    row.outside && [row.outside, "outside"],
    ...(row.outdated || []).map((why) => [why, "warn"]),
    row.protected && ["protected", "good"],
    row.pinned && ["pinned", "good"],
    row.sensitive && ["sensitive", "warn"],
    row.replaced_by && [`replaced by ${row.replaced_by}?`, "warn"],
  ].filter(Boolean);
  return found.map(([text, kind, title]) => h(`span.badge.${kind}`, { title }, text));
}

export const place = (row) =>
  row.kind === "article" ? "article" : row.language ? `for ${row.language}` : row.scope === "user" ? "yours" : row.scope;

export function link(row) {
  const anchor = row.anchor ? `/${encodeURIComponent(row.anchor)}` : "";
  return `#/note/${encodeURIComponent(row.ref)}${anchor}`;
}

export const title = (row) => row.summary.replace(/^#{1,6} /, "");

// A passage from a little before the first word that was asked for.
function excerpt(pieces) {
  const [first, ...rest] = pieces.map(([text]) => text);
  const cut = rest.length && first.length > 90 ? `…${first.slice(first.indexOf(" ", first.length - 60))}` : first;
  return { cut: cut !== first, shown: h("p.passage", {}, cut, pieces.slice(1).map(([text, hit]) => (hit ? h("mark", {}, text) : text))) };
}

function line(row) {
  const { cut, shown: passage } = row.passage ? excerpt(row.passage) : {};
  const why = row.why && h("span.why", {}, `${row.weak ? "weak: " : ""}${row.why}`);
  return h("li", {}, h("a.row", { href: link(row), "data-ref": row.ref },
    h("span.top", {}, h("span.ref", {}, row.ref), h("span", {}, place(row)), h("span", {}, row.age || row.date), why),
    passage && row.kind !== "article" && !cut ? passage : [h("span.summary", {}, row.above || title(row)), passage],
    h("span.marks", {}, badges(row), (row.tags || []).filter((tag) => tag[0] !== "_").map((tag) => h("span.tag", {}, tag)))));
}

function draw(found, more) {
  const focused = document.activeElement?.dataset?.ref;
  rows = more ? [...rows, ...found.rows] : found.rows;
  $("list").replaceChildren(...rows.map(line));
  $("more").hidden = Boolean($("query").value) || rows.length >= found.count;
  const noun = found.count === 1 ? "note" : "notes", most = found.most === found.count ? "The best " : "";
  $("count").replaceChildren(found.degraded?.length ? found.degraded.join("; ") : `${most}${found.count} ${noun}`,
    Object.values(asked()).some(Boolean) ? h("button.quiet", { type: "button", onclick: clear }, "Show all") : "");
  if (!rows.length) $("list").append(h("li.empty", {}, emptyText()));
  if (focused) $("list").querySelector(`[data-ref="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  markOpen();
}

function clear() {
  for (const one of $("filters").querySelectorAll("select")) one.value = "";
  load().then(() => $("query").focus());
}

function emptyText() {
  if ($("query").value) return "Nothing is known about that. Try other words, or fewer filters.";
  if (Object.values(asked()).some(Boolean)) return "No note is like that. Take a filter off to see more.";
  return "Nothing is remembered here yet. Write the first note, or say it: co learn “We deploy on Tuesdays”";
}

export async function load(more = false, again = false) {
  const query = $("query").value.trim();
  asking?.abort();
  asking = new AbortController();
  try {
    if (query) draw(await get("search", { q: query, ...asked() }, asking.signal));
    else draw(await get("list", { ...asked(), from: more ? rows.length : "", many: again ? rows.length : "" }, asking.signal), more);
  } catch (error) {
    if (error.name !== "AbortError") $("count").textContent = error.message;
  }
}

function markOpen() {
  const [view, ref] = route();
  for (const one of $("list").querySelectorAll("a.row")) {
    if (view === "note" && one.dataset.ref === ref) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
}

// Everything that is on the screen once more, unless somebody is writing in it.
export async function refresh() {
  const facts = await get("start").catch(() => null);
  if (facts) drawFrame(facts);
  await load(false, true);
  if (!document.querySelector("#pane form.editor")) await show(true);
  else document.querySelector("#pane form.editor").dispatchEvent(new Event("moved"));
}

function drawFrame(facts) {
  $("project").textContent = facts.project.split("/").pop();
  $("project").title = facts.project;
  $("drafts").textContent = facts.drafts;
  $("drafts").hidden = !facts.drafts;
  document.body.classList.toggle("foreign", facts.foreign);
  drawFilters(facts);
}

// ---- Routes: what stands after the # says what is open

const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
export const route = () => location.hash.replace(/^#\/?/, "").split("/").map(decoded);
const VIEWS = { note: showNote, new: showNew, inbox: showInbox, changes: showChanges, archive: showArchive, pictures: showPictures, health: showHealth };

async function show(again = false) {
  const [view, ...more] = route();
  document.body.dataset.view = view || "notes";
  for (const one of document.querySelectorAll("[data-nav]")) {
    const here = one.dataset.nav === (view in VIEWS && !["note", "new"].includes(view) ? view : "notes");
    if (here) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  markOpen();
  const pane = $("pane");
  try {
    if (VIEWS[view]) await VIEWS[view](pane, again, ...more);
    else pane.replaceChildren(h("p.empty", {}, "Open a note to read it here, or press ", h("kbd", {}, "?"), " for the keys."));
    if (!again && view && !pane.contains(document.activeElement)) pane.focus({ preventScroll: true });
  } catch (error) {
    pane.replaceChildren(h("p.empty", { role: "alert" }, error.message));
  }
  const title = pane.querySelector("h1")?.textContent;
  document.title = `${view && title ? title.slice(0, 60) : "Your notes"} · Co`;
}

// ---- Keys

function step(by) {
  const all = [...document.querySelectorAll("a.row, .card .main")].filter((one) => one.offsetParent);
  const at = all.indexOf(document.activeElement);
  const open = all.findIndex((one) => one.hasAttribute("aria-current"));
  const next = all[Math.max(0, Math.min(all.length - 1, (at < 0 ? open : at) + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const press = (id) => document.querySelector(`#pane [data-key="${id}"]`)?.click();
const KEYS = {
  "/": () => { if (!["notes", "note", "new"].includes(document.body.dataset.view) || innerWidth < 800) location.hash = "#/"; $("query").focus(); $("query").select(); },
  j: () => step(1), k: () => step(-1),
  e: () => press("edit"), p: () => press("protect"), x: () => press("forget"),
  n: () => { location.hash = "#/new"; },
  i: () => { location.hash = "#/inbox"; },
  c: () => { location.hash = "#/changes"; },
  u: () => undo(),
  "?": () => $("help").showModal(),
};

addEventListener("keydown", (event) => {
  if ($("help").open) return;
  const field = event.target.closest("input, textarea, select");
  const form = document.querySelector("#pane form.editor");
  if (event.key === "Escape") {
    if (field && field.id === "query") { field.value = ""; load(); field.blur(); }
    else if (field && !form) field.blur();
    else if (form) form.querySelector("[data-cancel]").click();
    else if (route()[0]) location.hash = "#/";
    return;
  }
  if (field || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

// ---- The start

let typing = 0;
$("query").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => load(), 90); });
$("search").addEventListener("submit", (event) => { event.preventDefault(); load().then(() => step(1)); });
$("more").addEventListener("click", () => load(true));
$("help-button").addEventListener("click", () => $("help").showModal());
document.querySelector("[data-skip]").addEventListener("click", (event) => { event.preventDefault(); $("pane").focus(); });
addEventListener("hashchange", () => show());

async function begin() {
  const token = /^#token=(.+)$/.exec(location.hash);
  if (token) {
    history.replaceState(null, "", "/"); // so that nobody finds it in the address
    await post("session", { token: token[1] });
  }
  const facts = await get("start");
  drawFrame(facts);
  draw(facts);
  document.body.dataset.ready = "true";
  listen();
  await show();
}

// While the tab is seen, the server tells of every change; a browser keeps few such lines open.
let events = null;
function listen(known = 0) {
  if (document.hidden || events) return;
  events = new EventSource("/api/events");
  events.addEventListener("message", () => { if (known++) refresh(); });
  events.addEventListener("open", () => { $("gone").hidden = true; });
  events.addEventListener("error", () => { $("gone").textContent = GONE; $("gone").hidden = false; });
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { events?.close(); events = null; }
  else if (document.body.dataset.ready) listen(1);
});

begin().catch((error) => {
  $("list").replaceChildren(h("li.empty", {}, error.message));
});
