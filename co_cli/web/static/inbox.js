// The inbox: drafts, one after another. What was decided is carried out in that order, while the
// person is at the next one already.

import { $, badges, fill, h, link, refresh, tell, tellDone, turn, write } from "./app.js";
import { both, button, openEditor } from "./note.js";
import { get } from "./server.js";
import { isUnsaved } from "./unsaved.js";

const decided = new Set(); // drafts that wait for the server
let place = []; // the draft that has the focus, and those after it

const cards = () => [...$("pane").querySelectorAll(".card")];
const cardOf = (ref) => cards().find((one) => one.dataset.item === ref);
const focusOn = (card) => {
  const first = card && [...card.querySelectorAll(".main")].find((one) => one.offsetParent);
  (first || $("pane")).focus({ preventScroll: !first });
  card?.scrollIntoView({ block: "nearest" });
};

export async function showInbox(pane, again = false) {
  const mine = turn();
  const { rows } = await get("inbox");
  if (!mine()) return;
  let list = pane.querySelector("ul.cards");
  again = again && Boolean(list); // else it was opened just now
  if (!list || !rows.length || !list.children.length) {
    list = h("ul.cards", { onfocusin: remember });
    pane.replaceChildren(h("h1", {}, "Inbox"),
      rows.length
        ? h("p.quiet", {}, "Drafts become notes when you accept them. Until then they are not searched, and no model sees them. ", h("kbd", {}, "?"), " shows the keys.")
        : h("p.empty", {}, "Inbox empty. Drafts appear here for approval."), list);
  }
  const items = rows.map((row) => ({ ...row, unsaved: isUnsaved(row.ref) }));
  const lost = fill(list, items, (row) => row.ref, card);
  if (!again) focusOn(cardOf(place.find(cardOf)) || cards()[0]);
  else if (lost) focusOn(cardOf(place.find(cardOf))); // it was settled elsewhere
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

// What is saved already that a draft resembles.
function met({ same, similar, refused }) {
  const found = similar.map((one) => h("p.met", {}, "Similar to ", h("a", { href: link(one) }, one.ref), `: ${one.text.slice(0, 300)}`));
  if (same) found.unshift(h("p.met", {}, "Says the same as ", h("a", { href: link({ ref: same }) }, same), ", which would get this wording."));
  return refused ? [h("p.met", {}, refused)] : found;
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
    else carryOut(one, action, said, choice);
  };
  const buttons = h("p.actions", {},
    button("Accept", decide("accept"), { main: true, "aria-label": `Accept${name}` }),
    button("Edit", () => openEditor(draft), { "data-key": "edit", "aria-label": `Edit${name}` }),
    button("Reject", decide("reject"), { "data-key": "forget", "aria-label": `Reject${name}` }));
  const one = h("li.card", { inert: decided.has(ref) }, h("p.top", {}, h("span.ref", {}, draft.scope === "user" ? "for every project" : "for this project"), From && h("span", {}, From)),
    h("p.draft", {}, draft.summary.length < written.text.length ? written.text : draft.summary),
    Said && h("blockquote", {}, Said), Object.entries(more).map(([label, text]) => h("p.quiet", {}, `${label}: ${text}`)),
    h("p.marks", {}, draft.unsaved && h("span.badge.warn", {}, "unfinished edit"), badges({ ...draft, outside: "" }), draft.tags.map((tag) => h("span.tag", {}, tag))),
    h("div", { "data-met": ref }), choice, buttons);
  return one;
}

// Move on to the next draft, and do with this one what was decided.
async function carryOut(card, action, said, choice) {
  if (decided.has(said.ref)) return;
  decided.add(said.ref);
  const all = cards();
  card.inert = true;
  focusOn(all.slice(all.indexOf(card) + 1).find((one) => !one.inert));
  try {
    tellDone(await write(action, said));
  } catch (error) {
    card.inert = false;
    if (!error.now) tell(error.message);
    else if (!error.now.similar) tell("The draft changed meanwhile. Look at it again.");
    else {
      const send = (more) => carryOut(card, action, { ...said, ...more }, choice);
      tell("That draft is similar to a note that you have. Choose what to keep.");
      choice.replaceChildren(both(error, said, send));
      card.querySelector("[data-key=edit]").parentElement.hidden = true;
      if (document.activeElement === $("pane")) choice.firstElementChild.focus();
    }
  } finally {
    decided.delete(said.ref);
    await refresh();
  }
}
