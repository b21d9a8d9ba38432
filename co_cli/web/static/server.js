// Talking to the server. The secret of its run stands after the # of the printed address; this
// module alone holds it, in this tab, and sends it as a header. There is no cookie.

// What this tab keeps until it is closed, also over a reload; without storage, until a reload.
const memory = new Map();
export const tab = {
  get(name) { try { return sessionStorage.getItem(name) ?? memory.get(name); } catch { return memory.get(name); } },
  set(name, text) {
    memory.set(name, text);
    try { sessionStorage.setItem(name, text); } catch { /* it is full or switched off */ }
  },
  remove(name) {
    memory.delete(name);
    try { sessionStorage.removeItem(name); } catch { /* as above */ }
  },
};

const SECRET = "co-secret";

// Take the secret out of the address, where others could read it; whether there was one.
export function takeSecret() {
  const found = /^#token=([\w-]*)/.exec(location.hash);
  if (!found) return false;
  tab.set(SECRET, found[1]);
  history.replaceState(null, "", "/");
  return true;
}

export class Refused extends Error {
  constructor(status, { error = "The server did not answer.", now }) {
    super(error[0].toUpperCase() + error.slice(1));
    this.status = status;
    this.now = now;
  }
}

// At the same port, for what a tab keeps belongs to the address with its port.
const STOPPED = `The server has stopped. Run \`co web --port ${location.port}\` and open the address that it prints in this tab, which keeps unsaved text.`;
const LOCKED = "This tab has no access to your notes. Open the whole address that `co web` printed, with the part after the #, or go back to the tab that you opened it in.";

// While a mouse button is down nothing is drawn anew: the element under it would be gone, and with it the click.
let held = null, release = null;
addEventListener("pointerdown", (event) => {
  if (event.button || event.target.closest?.("select")) return; // a menu takes what follows
  const before = release;
  held = new Promise((done) => { release = done; });
  before?.();
}, true);
const released = () => {
  const one = release;
  if (one) setTimeout(() => { one(); if (release === one) held = release = null; });
};
for (const name of ["pointerup", "pointercancel", "dragend", "keydown"]) addEventListener(name, released, true);
addEventListener("blur", released); // of the window; a press takes the focus from what had it
addEventListener("pointermove", (event) => { if (!event.buttons) released(); }, true);

async function ask(path, options) {
  const secret = tab.get(SECRET);
  if (!secret) throw new Refused(401, { error: LOCKED });
  const headers = { ...options.headers, Authorization: `Bearer ${secret}` };
  const response = await fetch(path, { ...options, headers }).catch((error) => {
    throw error.name === "AbortError" ? error : new Refused(0, { error: STOPPED });
  });
  const text = await response.text().catch(() => "");
  while (held) await held;
  options.signal?.throwIfAborted();
  if (response.status === 401) throw new Refused(401, { error: LOCKED }); // of another run
  let answer = { error: text.trim() || undefined };
  try { answer = JSON.parse(text); } catch { /* a refusal is plain text */ }
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

export function get(name, asked = {}, signal = undefined) {
  const named = Object.entries(asked).filter(([, value]) => value !== "" && value != null);
  return ask(`/api/${name}?${new URLSearchParams(named)}`, { signal });
}

export function post(name, said) {
  return ask(`/api/${name}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(said) });
}
