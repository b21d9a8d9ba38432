// What a text means for notes that are there: the question before it is saved, and the pairs that
// nobody has confirmed yet.

import { button, h, link, place } from "./app.js";
import { carryOut, drawCards } from "./inbox.js";
import { openEditor } from "./note.js";
import { get } from "./server.js";

// The words of a text, those that the other lacks highlighted.
export function words(text, other) {
  const known = new Set(other.split(/\s+/));
  return h("pre.prose", {}, text.split(/(\s+)/).map((word) => (!word.trim() || known.has(word) ? word : h("mark", {}, word))));
}

export const side = (heading, text, other, ...more) => h("div", {}, h("h3", {}, heading), words(text, other), more);

// Its buttons by their letters, while the focus is inside.
function letters(box, back = null) {
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const one = box.querySelector(`[data-letter="${event.key}"]:not(:disabled)`), leaves = event.key === "Escape" && back;
    if (!one && !leaves) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.repeat) return;
    if (leaves) back();
    else one.click();
  });
  return box;
}

const choice = (letter, text, onclick, more = {}) =>
  button([h("kbd", { "aria-hidden": "true" }, letter), ` ${text}`], onclick, { "data-letter": letter, "aria-keyshortcuts": letter, ...more });

const SENTENCES = {
  updates: (refs) => `This seems to bring ${refs} out of date.`,
  restates: (refs) => `Already noted as ${refs}.`,
};

// What becomes of a text and of the notes that it bears on. `send` saves with an answer, `edit`
// opens a note, `leave` does not save, `back` closes the question.
export function question({ now }, text, { send, edit, leave, back }) {
  const { verdict, matches, agreed } = now, outdates = verdict === "updates";
  const boxes = new Map(matches.map((one) => [one.ref, h("input", { type: "checkbox", checked: true, onchange: () => draw() })]));
  const chosen = () => matches.filter((one) => boxes.get(one.ref).checked);
  const answer = (choice) => () => send({ agreed, choice, refs: chosen().map((one) => one.ref).join("\n") });
  const check = (one) => outdates && matches.length > 1 && h("label", {}, boxes.get(one.ref), " out of date");
  const pairs = [...matches.map((one) => side(`Note ${one.ref}, ${one.date}`, one.text, text, check(one))),
    side("Yours", text, matches.map((one) => one.text).join(" "))];
  const actions = h("p.actions");
  const draw = () => {
    const some = chosen(), replace = some.find((one) => one.replaceable)?.ref, first = some.find((one) => one.editable)?.ref;
    actions.replaceChildren(...[
      outdates && choice("u", "Link as an update", answer("update"), { main: true, disabled: !some.length }),
      replace && choice("r", `Replace ${replace}`, answer("replace")),
      first && choice("e", `Edit ${first}`, () => edit(first)),
      choice("k", "Keep both", answer("keep")),
      choice("n", "Do not save", leave, { main: !outdates }),
    ].filter(Boolean));
  };
  draw();
  return letters(h("section.banner.both", { role: "group", "aria-label": "An earlier note", tabindex: "-1" },
    h("p", {}, h("strong", {}, SENTENCES[verdict](matches.map((one) => one.ref).join(" and ")))),
    h("div.pair", {}, pairs),
    actions,
    outdates && h("p.quiet", {}, "Link as an update keeps both, and shows the older one as earlier. Keep both means that they are unrelated.")), back);
}

// ---- The review

export async function showUpdates(pane, again = false) {
  await drawCards(pane, again, () => get("updates"), {
    heading: "Updates",
    text: "The newer note of each pair seems to bring the older one out of date. Until you choose, both are kept, and a search says “maybe updated”.",
    none: "No updates to confirm. Pairs of notes of which one seems to be out of date appear here.",
    key: (row) => `${row.newer.ref} ${row.older.ref}`,
    card: pair,
  });
}

function pair({ newer, older, agreed }) {
  const refs = { newer: newer.ref, older: older.ref, agreed };
  const name = `: ${newer.ref} ${newer.summary}, ${older.ref} ${older.summary}`;
  const decide = (action, said) => (event) => { if (event.detail <= 1) carryOut(one, action, said); };
  const link = (choice) => decide("link", { ...refs, choice });
  const one = letters(h("li.card", {},
    h("div.pair", {}, note("Newer", newer, older), note("Older", older, newer)),
    h("p.actions", {},
      choice("u", "Link as an update", link("update"), { main: true, "aria-label": `Link as an update${name}` }),
      choice("k", "Keep both", link("keep"), { "aria-label": `Keep both${name}` }),
      choice("e", `Edit ${older.ref}`, () => openEditor({ ref: older.ref }, { back: "#/updates" })),
      choice("x", `Forget ${older.ref}`, decide("forget", { ref: older.ref, seen: older.seen }), { disabled: older.protected, "aria-label": `Forget ${older.ref} ${older.summary}` }))));
  return one;
}

const note = (label, row, other) =>
  side(h("span", {}, `${label}: `, h("a", { href: link(row) }, row.ref), `, ${[row.date, place(row), row.protected && "protected"].filter(Boolean).join(", ")}`), row.text, other.text);
