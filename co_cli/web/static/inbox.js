// The inbox: drafts, one after another. What was decided is carried out in that order, while the
// person is at the next one already.

import { $, badges, button, fill, h, link, refresh, tell, tellDone, turn, write } from "./app.js";
import { openEditor } from "./note.js";
import { get } from "./server.js";
import { isUnsaved } from "./unsaved.js";
import { question } from "./updates.js";

const decided = new Set(); // cards that wait for the server
let place = []; // the card that has the focus, and those after it

const cards = () => [...$("pane").querySelectorAll(".card")];
const cardOf = (ref) => cards().find((one) => one.dataset.item === ref);
const focusOn = (card) => {
  const first = card && [...card.querySelectorAll(".main")].find((one) => one.offsetParent);
  (first || $("pane")).focus({ preventScroll: !first });
  card?.scrollIntoView({ block: "nearest" });
};

// Cards to decide on, drawn so that the focus stays where the person is; the list, or null when
// something else took the pane meanwhile.
export async function drawCards(pane, again, load, { heading, text, none, key, card }) {
  const mine = turn();
  const { rows } = await load();
  if (!mine()) return null;
  let list = pane.querySelector(`ul.cards[aria-label="${heading}"]`);
  again = again && Boolean(list); // else it was opened just now
  if (!list || !rows.length || !list.children.length) {
    list = h("ul.cards", { "aria-label": heading, onfocusin: remember });
    pane.replaceChildren(h("h1", {}, heading),
      rows.length ? h("p.quiet", {}, `${text} `, h("kbd", {}, "?"), " shows the keys.") : h("p.empty", {}, none), list);
  }
  const items = rows.map((row) => ({ ...row, unsaved: isUnsaved(row.ref) }));
  const lost = fill(list, items, key, card);
  for (const one of cards()) one.inert = decided.has(one.dataset.item);
  if (!again) focusOn(cardOf(place.find(cardOf)) || cards()[0]);
  else if (lost) focusOn(cardOf(place.find(cardOf))); // it was decided elsewhere
  return mine() ? list : null;
}

export async function showInbox(pane, again = false) {
  const list = await drawCards(pane, again, () => get("inbox"), {
    heading: "Inbox",
    text: "Drafts become notes when you accept them. Until then they are not searched, and no model sees them.",
    none: "Inbox empty. Drafts appear here for approval.",
    key: (row) => row.ref,
    card,
  });
  if (!list) return;
  const mine = turn();
  for (const one of list.querySelectorAll("[data-met]")) { // each takes a moment
    const answer = await get("meets", { ref: one.dataset.met }).catch(() => null);
    if (!mine()) return;
    const text = JSON.stringify(answer);
    if (!answer || one.dataset.text === text) continue;
    one.dataset.text = text;
    one.replaceChildren(...met(answer));
  }
}

function remember(event) {
  const refs = cards().map((one) => one.dataset.item);
  place = refs.slice(refs.indexOf(event.target.closest(".card").dataset.item));
}

// What is noted already, or would be out of date.
function met({ same, verdict, matches, refused }) {
  if (refused) return [h("p.met", {}, refused)];
  if (same) return [h("p.met", {}, "Already noted as ", h("a", { href: link({ ref: same }) }, same), ", which would get this wording.")];
  const label = { updates: "Seems to update ", restates: "Already noted as " }[verdict];
  return matches.map((one) => h("p.met", {}, label, h("a", { href: link(one) }, one.ref), `: ${one.text.slice(0, 300)}`));
}

function card(draft) {
  const { ref, seen, written, told } = draft;
  const { Said, From, ...more } = told, name = `: ${draft.summary}`;
  const said = { ref, seen, text: written.text, tags: written.tags.join("\n") };
  const choice = h("div", { role: "alert" });
  // A second click of two was meant for this draft, and not for one that came under the pointer.
  const decide = (action) => (event) => {
    if (event.detail > 1) return;
    if (action === "accept" && draft.unsaved) openEditor(draft); // their words are what they want
    else carryOut(one, action, said, asks);
  };
  const asks = (error, send) => {
    const close = () => { choice.replaceChildren(); buttons.hidden = false; };
    const back = () => { close(); focusOn(one); };
    const edit = (other) => openEditor({ ref: other }, { text: said.text, back: "#/inbox" });
    tell(`${error.message.split(". ")[0]}. Choose what to keep.`);
    choice.replaceChildren(question(error, said.text, { send, edit, leave: back, back }));
    buttons.hidden = true;
    if (document.activeElement === $("pane")) focusOn(one);
  };
  const buttons = h("p.actions", {},
    button("Accept", decide("accept"), { main: true, "aria-label": `Accept${name}` }),
    button("Edit", () => openEditor(draft), { "data-key": "edit", "aria-label": `Edit${name}` }),
    button("Reject", decide("reject"), { "data-key": "forget", "aria-label": `Reject${name}` }));
  const one = h("li.card", {}, h("p.top", {}, h("span.ref", {}, draft.scope === "user" ? "for every project" : "for this project"), From && h("span", {}, From)),
    h("p.draft", {}, draft.summary.length < written.text.length ? written.text : draft.summary),
    Said && h("blockquote", {}, Said), Object.entries(more).map(([label, text]) => h("p.quiet", {}, `${label}: ${text}`)),
    h("p.marks", {}, draft.unsaved && h("span.badge.warn", {}, "unfinished edit"), badges({ ...draft, outside: "" }), draft.tags.map((tag) => h("span.tag", {}, tag))),
    h("div", { "data-met": ref }), choice, buttons);
  return one;
}

// Move on to the next card, and do with this one what was decided; `asks` shows a question that
// comes back, and is given what sends the answer.
export async function carryOut(card, action, said, asks = null) {
  const { item } = card.dataset;
  if (decided.has(item)) return;
  decided.add(item);
  const all = cards();
  card.inert = true;
  focusOn(all.slice(all.indexOf(card) + 1).find((one) => !one.inert));
  try {
    tellDone(await write(action, said));
  } catch (error) {
    card.inert = false;
    if (error.now?.matches) asks(error, (more) => carryOut(card, action, { ...said, ...more }, asks));
    else tell(error.now ? "It changed meanwhile. Look at it again." : error.message);
  } finally {
    decided.delete(item);
    await refresh();
  }
}
