// Text that is not saved yet: it stays in this tab, over a reload too, until it is saved or discarded.

import { tab } from "./server.js";

let place = "", texts = {};
const changed = new Set(); // what is called when another note has unsaved text, or none any more

// What belongs to one project is not offered in another, which the same port may serve later.
export function openUnsaved(project) {
  const known = place;
  place = `co-unsaved:${project}`;
  if (place === known) return;
  if (window.opener) tab.remove(place); // a tab that another opened began with a copy of its texts
  window.opener = null;
  try { texts = JSON.parse(tab.get(place) || "{}"); } catch { texts = {}; }
  for (const call of changed) call();
}

export const onUnsaved = (call) => changed.add(call);
export const unsavedKeys = () => Object.keys(texts);
export const isUnsaved = (key) => Object.hasOwn(texts, key);
export const unsaved = (key) => (isUnsaved(key) ? texts[key] : null);

export function keep(key, value) {
  const had = isUnsaved(key);
  if (value) texts[key] = value;
  else delete texts[key];
  tab.set(place, JSON.stringify(texts));
  if (had !== isUnsaved(key)) for (const call of changed) call();
}

addEventListener("beforeunload", (event) => { if (Object.keys(texts).length) event.preventDefault(); });
