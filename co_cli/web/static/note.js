// What is open beside the list: a note, the editor, all changes, the archive.

import { $, act, badges, button, fill, go, h, link, place, refresh, rendered, tell, tellDone, title, turn, write } from "./app.js";
import { get } from "./server.js";
import { isUnsaved, keep, unsaved } from "./unsaved.js";
import { question, side } from "./updates.js";

const when = (at) => new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

// Whether this is drawn already: then what is open, focused or selected in it stays so.
let drawn = "";
export function stands(pane, again, told) {
  const before = drawn;
  drawn = JSON.stringify(told);
  return again && drawn === before && pane.childElementCount > 0;
}

// ---- A note

export async function showNote(pane, again, ref, anchor) {
  const mine = turn();
  const note = await get("note", { ref });
  if (!mine() || stands(pane, again, note)) return;
  const kept = again ? pane.scrollTop : 0;
  const open = again && [...pane.querySelectorAll("details[open]")].map((one) => one.id);
  const focused = again && pane.contains(document.activeElement) && document.activeElement.dataset.key;
  pane.replaceChildren(h("article.note", { "aria-label": `${note.kind} ${note.ref}` },
    h("p.top", {}, h("a.back", { href: "#/" }, "← Notes"), h("span.ref", {}, note.ref), h("span", {}, place(note)), h("span", { title: note.created }, `${note.date}${note.age ? `, ${note.age}` : ""}`), badges({ ...note, updated_by: null })),
    note.title ? h("h1", {}, note.title) : h("h1.hidden", {}, title(note)),
    note.untrusted && h("p.banner", {}, "You have not approved this note, so it is shown as plain text and no model sees it. To approve it, run ", h("code", {}, "co trust"), "."),
    isUnsaved(note.ref) && notSaved(note),
    updates(note),
    body(note),
    note.tags.length > 0 && h("p.marks", {}, note.tags.map((tag) => h("span.tag", {}, tag))),
    note.writable ? actions(note) : h("p.quiet", {}, "Co only reads this file. Edit it where it is."),
    links(note), history(note), header(note)));
  for (const id of open || []) { const one = document.getElementById(id); if (one) one.open = true; }
  if (focused) pane.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  pane.scrollTop = kept;
  const at = anchor && document.getElementById(`at-${anchor}`);
  at?.classList.add("here");
  if (!again) at?.scrollIntoView();
}

function body(note) {
  if (!note.passages.length) return note.html ? rendered(note.html) : h("pre.prose", {}, note.content);
  const seen = new Set();
  return h("div", {}, note.passages.map((one) => {
    const id = one.anchor && !seen.has(one.anchor) ? `at-${one.anchor}` : null;
    seen.add(one.anchor);
    const heading = one.heading && one.heading !== note.title && h("h2", {}, one.heading);
    return h("section.passage", { id }, heading, one.html ? rendered(one.html) : h("pre.prose", {}, one.text));
  }));
}

function actions(note) {
  const seen = { ref: note.ref, seen: note.seen };
  const doing = async (name, more = {}, then = null) => {
    try { return await act(name, { ...seen, ...more }, then); }
    catch (error) { tell(error.message); refresh(); return null; }
  };
  const mark = (name, on) => () => doing("mark", { mark: `${on ? "un" : ""}${name}` });
  return h("div.actions", { role: "group", "aria-label": "What to do with it" },
    button("Edit", () => openEditor(note), { main: true, "data-key": "edit" }),
    button(note.protected ? "Unprotect" : "Protect", mark("protect", note.protected), { "data-key": "protect" }),
    button(note.pinned ? "Unpin" : "Pin", mark("pin", note.pinned), { "data-key": "pin" }),
    button("Forget", () => { const here = location.hash; return doing("forget", {}, () => { if (location.hash === here) go("#/"); }); }, { "data-key": "forget", disabled: note.protected }));
}

const linked = (one) => h("li", {}, h("span.quiet", {}, `${one.how} `), h("a", { href: link(one) }, `${one.ref} ${title(one)}`));

// What updates it and what it updates, or seems to.
const isUpdate = (one) => /update/.test(one.how);
function updates(note) {
  const found = note.links.filter(isUpdate), maybe = found.some((one) => one.how.startsWith("maybe"));
  if (!found.length) return null;
  return h("div.updates", {}, h("ul.plain", {}, found.map(linked)), maybe && h("a", { href: "#/updates" }, "Review it"));
}

function links(note) {
  const found = note.links.filter((one) => !isUpdate(one));
  return found.length ? h("section", {}, h("h2.small", {}, "Linked"), h("ul.plain", {}, found.map(linked))) : null;
}

function history(note) {
  const rows = note.history.map((one) => h("li", {},
    h("button.quiet", { type: "button", "aria-expanded": "false", onclick: (event) => diff(event.currentTarget, note.ref, one.n) }, one.op),
    h("span.quiet", {}, ` by ${one.by}, ${when(one.at)} (change ${one.n})`)));
  return h("details", { id: "history" }, h("summary", {}, `History (${rows.length})`),
    rows.length ? h("ul.plain", {}, rows) : h("p.quiet", {}, "Co has not changed this file."));
}

async function diff(knob, ref, n) {
  const old = knob.parentElement.querySelector("pre");
  knob.setAttribute("aria-expanded", String(!old));
  if (old) return old.remove();
  try {
    const told = await get("diff", { ref, n });
    const lines = told.lines.map((line) => h(`span${{ "+": ".plus", "-": ".minus", "@": ".at" }[line[0]] || ""}`, {}, `${line}\n`));
    knob.parentElement.append(h("pre.diff", { tabindex: "0", "aria-label": `What change ${n} did` }, lines, told.edited && h("span.at", {}, "and edited by hand since\n")));
  } catch (error) { tell(error.message); }
}

function header(note) {
  return h("details", { id: "header" }, h("summary", {}, "File"), h("p.quiet.path", {}, note.path),
    h("dl.header", {}, note.header.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))));
}

// ---- Writing

const editing = (ref) => `#/edit/${encodeURIComponent(ref)}`;
const lines = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean).join("\n");

// That a note has changes that were not saved, and what may become of them.
function notSaved(note) {
  const drop = () => { discard(note.ref, editing(note.ref)); box.remove(); };
  const box = h("p.banner", { role: "status" }, "You have unsaved changes to this note. ",
    h("a", { href: editing(note.ref) }, "Continue editing"), button("Discard them", drop));
  return box;
}

function discard(key, route) {
  const value = unsaved(key);
  keep(key, null);
  if (value) tell("Discarded.", "Undo", () => { keep(key, value); if (location.hash !== route) location.hash = route; });
}

// What is on the disk and what was written, side by side, and the person's choice: to `send` it or `take` the other.
function both(error, said, send, take) {
  const { written, seen } = error.now;
  const tags = (some) => h("p.quiet", {}, `Tags: ${some.join(", ") || "none"}`);
  return h("section.banner.both", { "aria-label": "Both texts" }, h("p", {}, error.message),
    h("div.pair", {}, side("On disk", written.text, said.text, tags(written.tags)), side("Yours", said.text, written.text, tags(said.tags.split("\n").filter(Boolean)))),
    h("p.actions", {}, button("Save mine over it", () => send({ seen }), { main: true }), button("Use the text on disk", () => take(written, seen))));
}

// A form for a text and its tags, which stay in this tab under `key` until they are saved. `save` is
// given what stands in it, and what the person chose.
function editor({ key, route, back, title, start, save, scope = false, beside = "" }) {
  const kept = unsaved(key), from = { seen: start.seen, ...kept };
  const text = h("textarea", { id: "text", rows: 12, required: true, "aria-describedby": "hint" });
  text.value = kept ? kept.text : start.text;
  const tags = h("input", { id: "tags", autocomplete: "off" });
  tags.value = kept ? kept.tags : start.tags.join(", ");
  const where = scope && h("select", { id: "where" }, h("option", { value: "project" }, "This project"), h("option", { value: "user" }, "Yours, in every project"));
  if (kept?.where) where.value = kept.where;
  const aside = h("div", { role: "alert" });
  const form = h("form.editor", { "aria-label": title, "data-back": back, onsubmit: (event) => { event.preventDefault(); send(); }, oninput: () => note() },
    h("h1", {}, title), beside && h("figure.beside", {}, h("figcaption", {}, "The new text, which is not saved"), h("blockquote", {}, beside)),
    h("label", { for: "text" }, "Text, in markdown"), text,
    h("label", { for: "tags" }, "Tags, separated by commas"), tags,
    scope && h("label", { for: "where" }, "Notebook"), where, aside,
    h("p.actions", {}, h("button.main", {}, "Save"), button("Cancel", () => cancel()), h("span.quiet", { id: "hint" }, "Ctrl+Enter saves, Esc leaves it for later")));
  const note = () => {
    const same = text.value === start.text && tags.value === start.tags.join(", ");
    keep(key, same ? null : { text: text.value, tags: tags.value, where: where?.value, seen: from.seen });
    if (same) delete form.dataset.unsaved;
    else form.dataset.unsaved = route;
    form.dataset.seen = from.seen || "";
  };
  const cancel = () => {
    delete form.dataset.unsaved;
    discard(key, route);
    location.hash = back;
  };
  let sending = false;
  const send = async (more = {}) => {
    if (sending || !form.reportValidity()) return;
    const said = { text: text.value, tags: lines(tags.value), scope: where?.value || "", seen: from.seen || "", ...more };
    sending = text.readOnly = tags.readOnly = true;
    try {
      const done = await save(said);
      keep(key, null);
      if (beside && unsaved("new")?.text === beside) keep("new", null); // it is in this note now
      delete form.dataset.unsaved;
      tellDone(done);
      const here = form.isConnected;
      form.remove();
      if (here) location.hash = form.dataset.next || `#/note/${encodeURIComponent(done.ref)}`;
      await refresh();
    } catch (error) {
      $("toast").replaceChildren();
      const back = () => { aside.replaceChildren(); text.focus(); };
      const edit = (ref) => openEditor({ ref }, { text: said.text });
      if (error.now?.matches) aside.replaceChildren(question(error, said.text, { send, edit, leave: cancel, back }));
      else aside.replaceChildren(error.now ? both(error, said, send, take) : h("p.banner", {}, error.message, error.status === 404 && asNew(said)));
      aside.scrollIntoView({ block: "nearest" });
      if (error.now?.matches) aside.querySelector(".main").focus({ preventScroll: true });
    } finally {
      sending = text.readOnly = tags.readOnly = false;
    }
  };
  const take = (written, seen) => {
    start = written;
    text.value = written.text;
    tags.value = written.tags.join(", ");
    from.seen = seen;
    aside.replaceChildren();
    note();
  };
  // For a note or draft that is gone meanwhile.
  const asNew = (said) => button("Save it as a new note", () => {
    keep(key, null);
    delete form.dataset.unsaved;
    const other = unsaved("new")?.text;
    keep("new", { text: [other, said.text].filter(Boolean).join("\n\n"), tags: tags.value, where: "project" });
    location.hash = "#/new";
  });
  form.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); } });
  note();
  return form;
}

function open(pane, form) {
  turn();
  pane.replaceChildren(form);
  form.querySelector("textarea").focus();
}

// At once, so that what is typed next is typed into it. `from` is what it is opened for: a new text
// to show beside it, and where to go afterwards.
let atHand = null;
export function openEditor(note, from = {}) {
  atHand = { note, from };
  go(editing(note.ref));
}

// A note, or a draft, which saving accepts.
export async function showEdit(pane, again, ref) {
  if (again && pane.querySelector("form.editor")) return;
  const mine = turn(), gone = { kind: "note", written: { text: "", tags: [] } };
  const missing = (error) => { if (error.status === 404 && isUnsaved(ref)) return gone; throw error; };
  const known = atHand?.note.ref === ref ? atHand : { from: {} };
  atHand = null;
  const note = known.note?.written ? known.note : await get("note", { ref }).catch(missing);
  if (!mine()) return;
  const [action, usual] = note.kind === "draft" ? ["accept", "#/inbox"] : ["edit", `#/note/${encodeURIComponent(ref)}`];
  const back = known.from.back || usual;
  const start = { ...note.written, seen: note.seen }, save = (said) => write(action, { ...said, ref });
  const form = editor({ key: ref, route: editing(ref), back, title: `Edit ${note.kind} ${ref}`, start, save, beside: known.from.text });
  const compare = (now) => {
    if (!now) tell("The file is gone from the disk. Your text stays in this tab.");
    else if (now.seen !== form.dataset.seen) tell("The file changed on the disk. Saving shows you both.");
  };
  form.dataset.next = back;
  form.addEventListener("moved", () => get("note", { ref }).catch(() => null).then(compare));
  open(pane, form);
  compare(note === gone ? null : note);
}

export function showNew(pane, again) {
  if (again) return;
  open(pane, editor({ key: "new", route: "#/new", back: "#/", title: "Write a note", start: { text: "", tags: [] }, save: (said) => write("save", said), scope: true }));
}

// ---- What changed

export async function showChanges(pane, again) {
  const mine = turn();
  const old = again ? pane.querySelectorAll(".change").length : 0;
  const list = h("ul.plain");
  const more = button("Show more", () => draw());
  const draw = async () => {
    const { rows, count } = await get("changes", { from: String(list.children.length) });
    list.append(...rows.map(change));
    more.hidden = list.children.length >= count;
    return rows;
  };
  const first = await draw();
  if (!mine() || stands(pane, again, first)) return;
  while (list.children.length < old && !more.hidden) await draw();
  if (!mine()) return;
  const kept = again ? pane.scrollTop : 0;
  pane.replaceChildren(h("h1", {}, "Changes"), h("p.quiet", {}, "Every change to your notes, newest first. Each but a purge can be undone, and so can an undo."),
    list.children.length ? list : h("p.empty", {}, "No changes yet."), more);
  pane.scrollTop = kept;
}

function change(one) {
  const text = one.op === "undo" ? `undo of ${one.undoes}` : one.op;
  const shown = one.notes.slice(0, 8).map((note) => h("li", {}, note.ref
    ? [h("button.quiet", { type: "button", "aria-expanded": "false", "aria-label": `What change ${one.n} did to ${note.ref}`, onclick: (event) => diff(event.currentTarget, note.ref, one.n) }, "±"),
       h("a", { href: link(note) }, `${note.ref} ${title(note)}`)]
    : h("span.quiet", {}, note.summary)));
  const rest = one.notes.length - shown.length;
  return h(`li.change${one.undone ? ".undone" : ""}`, {},
    h("p.top", {}, h("span.ref", {}, text), h("span", {}, `by ${one.by}`), h("span", {}, when(one.at)), h("span", {}, `${one.scope === "user" ? "yours" : "project"}, change ${one.n}`),
      one.undone ? h("span.badge", {}, "undone") : button("Undo", () => act("undo", { scope: one.scope, n: String(one.n) }), { "aria-label": `Undo change ${one.n}: ${text}` })),
    h("ul.plain", {}, shown, rest > 0 && h("li.quiet", {}, `and ${rest} more`)));
}

// ---- The archive

export async function showArchive(pane, again) {
  const mine = turn();
  const { rows } = await get("archive");
  if (!mine()) return;
  let list = again ? pane.querySelector("ul.cards") : null;
  if (!list?.children.length || !rows.length) {
    list = h("ul.cards");
    pane.replaceChildren(h("h1", {}, "Archive"),
      h("p.quiet", {}, "Notes that were forgotten, merged or decayed. Nothing is deleted until you purge it."),
      rows.length ? list : h("p.empty", {}, "The archive is empty."));
  }
  fill(list, rows, (row) => row.ref, (row) => h("li.card", {},
    h("p.top", {}, h("span.ref", {}, row.ref), h("span", {}, `${row.op}, ${when(row.at)}`), badges(row)),
    h("p.draft", {}, row.summary),
    h("p.actions", {}, button("Restore", () => act("restore", { ref: row.ref }), { "data-step": true, "aria-label": `Restore ${row.ref}: ${row.summary}` }))));
}
