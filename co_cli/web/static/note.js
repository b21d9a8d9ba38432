// What is open beside the list: a note, the editor, the inbox, the archive.

import { $, act, badges, get, h, link, load, place, post, refresh, rendered, tell, title, turn } from "./app.js";

const when = (at) => new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
const button = (text, onclick, more = {}) => h(more.main ? "button.main" : "button", { type: "button", onclick, ...more, main: null }, text);

// Whether this is drawn already: then what is open, focused or selected in it stays so.
let drawn = "";
function stands(pane, again, told) {
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
  pane.replaceChildren(h("article.note", { "aria-label": `${note.kind} ${note.ref}` },
    h("p.top", {}, h("a.back", { href: "#/" }, "← Notes"), h("span.ref", {}, note.ref), h("span", {}, place(note)), h("span", { title: note.created }, `${note.date}${note.age ? `, ${note.age}` : ""}`), badges(note)),
    note.title ? h("h1", {}, note.title) : h("h1.hidden", {}, title(note)),
    note.untrusted && h("p.banner", {}, "This came from elsewhere and nobody here agreed to it, so it is shown as plain text and no model sees it. ", h("code", {}, "co trust"), " asks."),
    body(note),
    note.tags.length > 0 && h("p.marks", {}, note.tags.map((tag) => h("span.tag", {}, tag))),
    note.writable ? actions(note) : h("p.quiet", {}, "This file is read where it lies: edit it there."),
    links(note), history(note), header(note)));
  for (const id of open || []) { const one = document.getElementById(id); if (one) one.open = true; }
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
  const doing = async (name, more = {}) => {
    try { return await act(name, { ...seen, ...more }); }
    catch (error) { tell(error.message); refresh(); return null; }
  };
  const mark = (name, on) => () => doing("mark", { mark: `${on ? "un" : ""}${name}` });
  return h("div.actions", { role: "group", "aria-label": "What to do with it" },
    button("Edit", () => edit(note), { main: true, "data-key": "edit" }),
    button(note.protected ? "Unprotect" : "Protect", mark("protect", note.protected), { "data-key": "protect" }),
    button(note.pinned ? "Unpin" : "Pin", mark("pin", note.pinned)),
    button("Forget", async () => { const here = location.hash; if (await doing("forget") && location.hash === here) location.hash = "#/"; }, { "data-key": "forget", disabled: note.protected }));
}

function links(note) {
  if (!note.links.length) return null;
  return h("section", {}, h("h2.small", {}, "Linked"), h("ul.plain", {}, note.links.map((one) =>
    h("li", {}, h("span.quiet", {}, `${one.how} `), h("a", { href: link(one) }, `${one.ref} ${title(one)}`)))));
}

function history(note) {
  const rows = note.history.map((one) => h("li", {},
    h("button.quiet", { type: "button", "aria-expanded": "false", onclick: (event) => diff(event.currentTarget, note.ref, one.n) }, one.op),
    h("span.quiet", {}, ` by ${one.by}, ${when(one.at)} (change ${one.n})`)));
  return h("details", { id: "history" }, h("summary", {}, `History (${rows.length})`),
    rows.length ? h("ul.plain", {}, rows) : h("p.quiet", {}, "Co has not changed this file; it was written by hand."));
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

const lines = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean).join("\n");

// A form for a text and its tags. `save` is given what stands in it, and what the person chose.
function editor(start, title, save, cancel, scope = null) {
  const text = h("textarea", { id: "text", rows: 12, required: true, "aria-describedby": "hint" });
  text.value = start.text;
  const tags = h("input", { id: "tags", autocomplete: "off" });
  tags.value = start.tags.join(", ");
  const where = scope && h("select", { id: "where" }, h("option", { value: "project" }, "This project"), h("option", { value: "user" }, "Yours, in every project"));
  const aside = h("div", { role: "alert" });
  const form = h("form.editor", { "aria-label": title, onsubmit: (event) => { event.preventDefault(); send(); } },
    h("h1", {}, title), h("label", { for: "text" }, "Text, in markdown"), text,
    h("label", { for: "tags" }, "Tags, with commas between them"), tags,
    scope && h("label", { for: "where" }, "Notebook"), where, aside,
    h("p.actions", {}, h("button.main", {}, "Save"), button("Cancel", cancel, { "data-cancel": true }), h("span.quiet", { id: "hint" }, "Ctrl+Enter saves")));
  const send = async (more = {}) => {
    const said = { text: text.value, tags: lines(tags.value), scope: where?.value || "", ...more };
    try { await save(said); }
    catch (error) {
      $("toast").replaceChildren();
      aside.replaceChildren(error.now ? both(error, said) : h("p.banner", {}, error.message));
      aside.scrollIntoView({ block: "nearest" });
    }
  };
  // What is there and what was written, side by side, and the person's choice.
  const both = (error, said) => {
    const now = error.now;
    const pair = (title, words, other, tags) => h("div", {}, h("h3", {}, title),
      h("pre.prose", {}, words.split(/(\s+)/).map((word) => (!word.trim() || other.split(/\s+/).includes(word) ? word : h("mark", {}, word)))),
      tags != null && h("p.quiet", {}, `Tags: ${tags || "none"}`));
    const theirs = now.written ? [pair("On the disk now", now.written.text, said.text, now.written.tags.join(", "))] : now.similar.map((one) => pair(`Remembered as ${one.ref}`, one.text, said.text));
    const mine = pair("Yours", said.text, theirs.length > 1 ? said.text : now.written ? now.written.text : now.similar[0].text, now.written ? said.tags.split("\n").join(", ") : null);
    const choices = now.written
      ? [button("Save mine over it", () => send({ seen: now.seen }), { main: true }),
         button("Take what is on the disk", () => { text.value = now.written.text; tags.value = now.written.tags.join(", "); start.seen = now.seen; aside.replaceChildren(); })]
      : [button("Keep both", () => send({ agreed: now.agreed, similar: "keep" }), { main: true }),
         button(`Replace ${now.similar[0].ref}`, () => send({ agreed: now.agreed, similar: "update" }))];
    return h("section.banner.both", { "aria-label": "Both texts" }, h("p", {}, error.message), h("div.pair", {}, theirs, mine), h("p.actions", {}, choices));
  };
  form.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); } });
  return form;
}

// The same as `act`, but what is refused is for the form to show.
async function written(name, said) {
  const done = await post(name, said);
  tell(done.display, done);
  return done;
}

function open(pane, form) {
  turn();
  pane.replaceChildren(form);
  form.querySelector("textarea").focus();
}

function edit(note) {
  const pane = $("pane"), start = { ...note.written, seen: note.seen };
  const back = () => { pane.replaceChildren(); refresh(); };
  const form = editor(start, `Edit ${note.kind} ${note.ref}`, async (said) => {
    await written("edit", { ref: note.ref, seen: start.seen, ...said });
    back();
  }, back);
  form.addEventListener("moved", async () => {
    const now = await get("note", { ref: note.ref }).catch(() => null);
    if (!now) tell("The file is gone from the disk; what you write here is not lost while this stays open.");
    else if (now.seen !== start.seen) tell("The file changed on the disk. Saving shows you both.");
  });
  open(pane, form);
}

export function showNew(pane, again) {
  if (again) return;
  open(pane, editor({ text: "", tags: [] }, "Write a note", async (said) => {
    const done = await written("save", said);
    pane.replaceChildren();
    await load();
    location.hash = `#/note/${encodeURIComponent(done.ref)}`;
  }, () => { pane.replaceChildren(); location.hash = "#/"; }, true));
}

// ---- The inbox

export async function showInbox(pane, again = false) {
  const mine = turn();
  const { rows } = await get("inbox");
  if (!mine() || stands(pane, again, rows)) return;
  pane.replaceChildren(h("h1", {}, "Inbox"),
    h("p.quiet", {}, "What may become a memory waits here for your yes. Until then nothing searches it, and no model is told."),
    rows.length ? h("ul.cards", {}, rows.map(card)) : h("p.empty", {}, "No drafts wait."));
  pane.querySelector("[data-first]")?.focus();
  for (const one of pane.querySelectorAll("[data-met]")) { // each takes a moment
    if (!one.isConnected) return;
    const told = await get("meets", { ref: one.dataset.met }).catch(() => null);
    if (told) one.replaceChildren(...met(told));
  }
}

// What is remembered already that a draft resembles.
function met({ same, similar, refused }) {
  const found = similar.map((one) => h("p.met", {}, "Similar to ", h("a", { href: link(one) }, one.ref), `: ${one.text.slice(0, 300)}`));
  if (same) found.unshift(h("p.met", {}, "Says the same as ", h("a", { href: link({ ref: same }) }, same), ", which would take on this wording."));
  return refused ? [h("p.met", {}, refused)] : found;
}

function card(draft, number) {
  const pane = $("pane"), start = { ...draft.written, seen: draft.seen };
  const said = { ref: draft.ref, seen: draft.seen, text: start.text, tags: start.tags.join("\n") };
  const change = () => open(pane, editor(start, `Edit draft ${draft.ref}`, async (more) => {
    await written("accept", { ...said, seen: start.seen, ...more });
    pane.replaceChildren();
    refresh();
  }, () => showInbox(pane)));
  const accept = async () => { try { await act("accept", said); } catch { change(); document.querySelector("form.editor").requestSubmit(); } };
  const reject = async () => { try { await act("reject", said); } catch (error) { tell(error.message); refresh(); } };
  const { Said, From, ...more } = draft.told, called = `: ${draft.summary}`;
  return h("li.card", {}, h("p.top", {}, h("span.ref", {}, draft.scope === "user" ? "for every project" : "for this project"), From && h("span", {}, From)),
    h("p.draft", {}, draft.summary.length < draft.written.text.length ? draft.written.text : draft.summary),
    Said && h("blockquote", {}, Said), Object.entries(more).map(([name, text]) => h("p.quiet", {}, `${name}: ${text}`)),
    h("p.marks", {}, badges({ ...draft, outside: "" }), draft.tags.map((tag) => h("span.tag", {}, tag))),
    h("div", { "data-met": draft.ref }),
    h("p.actions", {}, button("Accept", accept, { main: true, "data-first": number === 0, "aria-label": `Accept${called}` }), button("Edit", change, { "aria-label": `Edit${called}` }), button("Reject", reject, { "aria-label": `Reject${called}` })));
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
  pane.replaceChildren(h("h1", {}, "Changes"), h("p.quiet", {}, "All that was done to your notes, here and elsewhere, newest first. Each can be undone, and so can an undo."),
    list.children.length ? list : h("p.empty", {}, "Nothing has changed here yet."), more);
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

export async function showArchive(pane) {
  const mine = turn();
  const { rows } = await get("archive");
  if (!mine()) return;
  pane.replaceChildren(h("h1", {}, "Archive"),
    h("p.quiet", {}, "What was forgotten, merged or decayed. Nothing is gone until you purge it."),
    rows.length ? h("ul.cards", {}, rows.map((row) => h("li.card", {},
      h("p.top", {}, h("span.ref", {}, row.ref), h("span", {}, `${row.op}, ${when(row.at)}`), badges(row)),
      h("p.draft", {}, row.summary),
      h("p.actions", {}, button("Restore", () => act("restore", { ref: row.ref }), { "aria-label": `Restore ${row.ref}: ${row.summary}` })))))
      : h("p.empty", {}, "The archive is empty: nothing has been forgotten, rejected, merged or decayed yet."));
}
