// The page's frame: what is done and undone, the list with its search, routes, keys.
// What is open beside the list is in note.js and inbox.js; what is drawn is in draw.js.

import { showHealth, showPictures } from "./draw.js";
import { showInbox } from "./inbox.js";
import { showArchive, showChanges, showEdit, showNew, showNote } from "./note.js";
import { get, post, takeSecret } from "./server.js";
import { isUnsaved, onUnsaved, openUnsaved, unsavedKeys } from "./unsaved.js";
import { showUpdates } from "./updates.js";

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

export const button = (text, onclick, more = {}) => h(more.main ? "button.main" : "button", { type: "button", onclick, ...more, main: null }, text);

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

// Show these items as the elements of a list. What is there already stays as it is, so that no
// focus and no click is lost; returns the key of the item whose focused element went away.
const shown = new WeakMap();
export function fill(list, items, key, make) {
  const active = list.contains(document.activeElement) ? document.activeElement : null;
  const home = active?.closest("[data-item]"), controls = "a, button, summary";
  const at = home && [...home.querySelectorAll(controls)].indexOf(active);
  const old = new Map([...list.children].map((one) => [one.dataset.item, one]));
  const now = items.map((item) => {
    const name = key(item), text = JSON.stringify(item), known = old.get(name);
    old.delete(name);
    if (known && shown.get(known) === text) return known;
    const one = make(item);
    one.dataset.item = name;
    shown.set(one, text);
    return one;
  });
  const stay = new Set(now);
  for (const one of [...list.children]) if (!stay.has(one)) one.remove();
  now.forEach((one, n) => { if (list.children[n] !== one) list.insertBefore(one, list.children[n] || null); });
  if (!home || home.isConnected) return null;
  const again = now.find((one) => one.dataset.item === home.dataset.item);
  again?.querySelectorAll(controls)[at]?.focus({ preventScroll: true });
  return again ? null : home.dataset.item;
}

// ---- What was done, and taking it back

let steps = []; // the changes made here that still stand, the last one at the end
let writing = Promise.resolve();
let fades = 0;

export function tell(text, label = "", onclick = null) {
  $("toast").replaceChildren(h("p", {}, text, label && h("button.quiet", { type: "button", onclick }, label)));
  clearTimeout(fades);
  fades = setTimeout(() => $("toast").replaceChildren(), 8000);
}

// Writes are sent one after another, in the order in which they were asked for.
export function write(name, said) {
  const done = writing.then(async () => {
    const one = typeof said === "function" ? said() : said;
    const drop = () => { if (name === "undo") steps = steps.filter((step) => step.scope !== one.scope || String(step.change) !== one.n); };
    const answer = await post(name, one).catch((error) => { if (error.status) drop(); throw error; });
    drop();
    if (answer.change) steps.push(answer);
    return answer;
  });
  writing = done.catch(() => {});
  return done;
}

export function tellDone(done) {
  if (!done.change) return tell(done.display);
  tell(done.display, "Undo", () => undo(done));
}

// Do something and say what came of it; null when it was refused. `then` comes before what is drawn
// anew, which takes a while: the person may be elsewhere by then.
export async function act(name, said, then = null) {
  try {
    const done = await write(name, said);
    tellDone(done);
    then?.();
    await refresh();
    return done;
  } catch (error) {
    if (error.status === 409 && error.now) throw error; // whoever asked shows both
    tell(error.message);
    return null;
  }
}

// Take back one change, or the last that was made here; what cannot be taken back is passed over.
async function undo(step = null) {
  const before = new Set([...document.querySelectorAll(".card")].map((one) => one.dataset.item));
  const done = await act("undo", () => {
    const last = step || steps.at(-1);
    if (!last) throw new Error("Nothing to undo in this tab. Changes lists everything that was done.");
    return { scope: last.scope, n: String(last.change) };
  });
  if (!done || !["inbox", "updates"].includes(document.body.dataset.view)) return;
  [...document.querySelectorAll(".card")].find((one) => !before.has(one.dataset.item))?.querySelector(".main").focus();
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
    row.earlier ? ["earlier", "warn", `Updated by ${row.updated_by}`] : row.updated_by && [`updated by ${row.updated_by}`, "warn"],
    row.maybe_updated_by && [`maybe updated by ${row.maybe_updated_by}`, "warn"],
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
  return h(row.earlier ? "li.earlier" : "li", {}, h("a.row", { href: link(row), "data-ref": row.ref },
    h("span.top", {}, h("span.ref", {}, row.ref), h("span", {}, place(row)), h("span", {}, row.age || row.date), why),
    passage && row.kind !== "article" && !cut ? passage : [h("span.summary", {}, row.above || title(row)), passage],
    h("span.marks", {}, row.unsaved && h("span.badge.warn", {}, "unfinished edit"), badges(row), (row.tags || []).filter((tag) => tag[0] !== "_").map((tag) => h("span.tag", {}, tag)))));
}

function draw(found, more) {
  rows = more ? [...rows, ...found.rows] : found.rows;
  drawList();
  $("more").hidden = Boolean($("query").value) || rows.length >= found.count;
  const noun = found.count === 1 ? "note" : "notes", most = found.most === found.count ? "The best " : "";
  $("count").replaceChildren(found.degraded?.length ? found.degraded.join("; ") : `${most}${found.count} ${noun}`,
    Object.values(asked()).some(Boolean) ? h("button.quiet", { type: "button", onclick: clear }, "Show all") : "");
}

function drawList() {
  const items = rows.map((row) => ({ ...row, unsaved: isUnsaved(row.ref) }));
  fill($("list"), items, (row) => `${row.ref}#${row.anchor || ""}`, line);
  if (!rows.length) $("list").append(h("li.empty", {}, emptyText()));
  markOpen();
}
onUnsaved(() => {
  drawList();
  $("write").textContent = isUnsaved("new") ? "Continue writing" : "Write";
  const edits = unsavedKeys().filter((key) => key !== "new"); // also of what is gone meanwhile
  $("edits").hidden = !edits.length;
  $("edits").textContent = `${edits.length} unfinished`;
  $("edits").href = `#/edit/${encodeURIComponent(edits[0])}`;
});

function clear() {
  for (const one of $("filters").querySelectorAll("select")) one.value = "";
  load().then(() => $("query").focus());
}

function emptyText() {
  if ($("query").value) return "No notes found. Try other words, or fewer filters.";
  if (Object.values(asked()).some(Boolean)) return "No notes match these filters.";
  return "No notes yet. Write the first one.";
}

// With `fast`, while somebody types, in the order of the ranking alone; the final order follows.
export async function load(more = false, again = false, fast = "") {
  const query = $("query").value.trim();
  asking?.abort();
  asking = new AbortController();
  try {
    if (query) draw(await get("search", { q: query, fast, ...asked() }, asking.signal));
    else draw(await get("list", { ...asked(), from: more ? rows.length : "", many: again ? rows.length : "" }, asking.signal), more);
    $("list").setAttribute("aria-busy", String(Boolean(query && fast)));
  } catch (error) {
    if (error.name !== "AbortError") $("count").textContent = error.message;
  }
}

function markOpen() {
  const [view, ref] = route();
  for (const one of $("list").querySelectorAll("a.row")) {
    if (["note", "edit"].includes(view) && one.dataset.ref === ref) one.setAttribute("aria-current", "true");
    else one.removeAttribute("aria-current");
  }
}

// Everything that is on the screen once more, unless somebody is writing in it. One at a time; the
// next begins after everybody who asked for it did.
let drawing = Promise.resolve(), next = null;
export function refresh() {
  if (!next) {
    next = drawing = drawing.then(async () => {
      next = null;
      const facts = await get("start").catch(() => null);
      if (facts) drawFrame(facts);
      await load(false, true);
      const form = document.querySelector("#pane form.editor");
      if (form) form.dispatchEvent(new Event("moved"));
      else await show(true);
    }).catch((error) => tell(error.message));
  }
  return drawing;
}

function drawFrame(facts) {
  version = facts.version;
  $("project").textContent = facts.project.split("/").pop();
  $("project").title = facts.project;
  for (const name of ["drafts", "pairs"]) {
    $(name).textContent = facts[name];
    $(name).hidden = !facts[name];
  }
  document.body.classList.toggle("foreign", facts.foreign);
  drawFilters(facts);
}

// ---- Routes: what stands after the # says what is open

const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };
export const route = () => location.hash.replace(/^#\/?/, "").split("/").map(decoded);
const VIEWS = { note: showNote, edit: showEdit, new: showNew, inbox: showInbox, updates: showUpdates, changes: showChanges, archive: showArchive, pictures: showPictures, health: showHealth };

// At once, where a link would do it a moment later.
export function go(hash) {
  if (location.hash !== hash) history.pushState(null, "", hash);
  show();
}

async function show(again = false) {
  const [view, ...more] = route();
  document.body.dataset.view = view || "notes";
  for (const one of document.querySelectorAll("[data-nav]")) {
    const here = one.dataset.nav === (view in VIEWS && !["note", "edit", "new"].includes(view) ? view : "notes");
    if (here) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  markOpen();
  const pane = $("pane"), left = pane.querySelector("form.editor")?.dataset;
  if (left?.unsaved) tell("Your text is not saved. It stays in this tab.", "Continue", () => { location.hash = left.unsaved; });
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
  const all = [...document.querySelectorAll("a.row, .card .main, .card [data-step]")].filter((one) => one.offsetParent && !one.closest("[inert]"));
  const card = document.activeElement.closest(".card");
  const here = card ? all.find((one) => card.contains(one)) : document.activeElement;
  const open = all.findIndex((one) => one.hasAttribute("aria-current"));
  const at = all.indexOf(here) < 0 ? open : all.indexOf(here);
  const next = all[Math.max(0, Math.min(all.length - 1, at + by))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

const press = (id) => (document.activeElement.closest(".card") || document.querySelector("#pane .note"))?.querySelector(`[data-key="${id}"]`)?.click();
const KEYS = {
  "/": () => { if (!["notes", "note", "new"].includes(document.body.dataset.view) || innerWidth < 800) location.hash = "#/"; $("query").focus(); $("query").select(); },
  j: () => step(1), k: () => step(-1),
  e: () => press("edit"), p: () => press("protect"), x: () => press("forget"),
  n: () => go("#/new"),
  i: () => { location.hash = "#/inbox"; },
  c: () => { location.hash = "#/changes"; },
  u: () => undo(),
  "?": () => $("help").showModal(),
};

addEventListener("keydown", (event) => {
  if ($("help").open) return;
  const field = event.target.closest("input, textarea, select");
  const form = document.querySelector("#pane form.editor");
  // A key that is held down does one thing once; a button would be pressed again where the focus went.
  if (event.repeat && (KEYS[event.key] || event.target.closest("button")) && !field && !["j", "k"].includes(event.key)) return event.preventDefault();
  if (event.key === "Escape") {
    if (field && field.id === "query") { field.value = ""; load(); field.blur(); }
    else if (form) location.hash = form.dataset.back;
    else if (field) field.blur();
    else if (route()[0]) location.hash = "#/";
    return;
  }
  if (field || event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
  event.preventDefault();
  KEYS[event.key]();
});

// A tab that the person opens from here has access too: this one hands on what is its own.
function openTab(event) {
  const link = event.target.closest?.('a[href^="#"]');
  if (!link || !(event.button === 1 || ((event.ctrlKey || event.metaKey) && event.button === 0))) return;
  event.preventDefault();
  open(`/${link.getAttribute("href")}`);
}
addEventListener("click", openTab);
addEventListener("auxclick", openTab);

// ---- The start

let typing = 0;
const later = (time, work) => { clearTimeout(typing); typing = setTimeout(work, time); };
$("query").addEventListener("input", () => later(90, () => { load(false, false, "yes"); if ($("query").value.trim()) later(300, () => load()); }));
$("search").addEventListener("submit", (event) => { event.preventDefault(); clearTimeout(typing); load().then(() => step(1)); });
$("more").addEventListener("click", () => load(true));
$("help-button").addEventListener("click", () => $("help").showModal());
$("help").addEventListener("click", (event) => { if (event.target.closest("a")) $("help").close(); });
document.querySelector("[data-skip]").addEventListener("click", (event) => { event.preventDefault(); $("pane").focus(); });
addEventListener("hashchange", () => (takeSecret() ? begin() : show()));

async function begin() {
  try {
    const facts = await get("start");
    openUnsaved(facts.project);
    drawFrame(facts);
    draw(facts);
    $("gone").hidden = true;
    document.body.dataset.ready = "true";
    listen();
    await show();
  } catch (error) {
    rows = [];
    $("list").replaceChildren(h("li.empty", {}, error.message));
  }
}

// While the tab is seen, the server tells of every change; a browser keeps few such lines open.
let version = 0, listening = null;
async function listen() {
  if (document.hidden || listening) return;
  const { signal } = (listening = new AbortController());
  while (!signal.aborted) {
    try {
      const news = await get("version", { known: version }, signal);
      $("gone").hidden = true;
      if (news.version !== version) await refresh();
      version = news.version;
    } catch (error) {
      if (signal.aborted) return;
      $("gone").textContent = error.message;
      $("gone").hidden = false;
      if (error.status === 401) { listening = null; return; }
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
}
document.addEventListener("visibilitychange", () => {
  if (document.hidden) { listening?.abort(); listening = null; }
  else if (document.body.dataset.ready) listen();
});

takeSecret();
begin();
