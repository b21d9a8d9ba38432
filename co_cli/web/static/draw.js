// What is drawn: the notebook over time, how notes relate, what is used, and how all of it is.

import { h, link, title as called, turn } from "./app.js";
import { get } from "./server.js";

function s(name, attrs, ...children) {
  const one = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attrs)) one.setAttribute(key, value);
  one.append(...children.flat());
  return one;
}
const figure = (title, about, picture, ...more) =>
  h("figure", {}, h("figcaption", {}, h("h2", {}, title), h("p.quiet", {}, about)), picture, ...more);
const legend = (names) => h("p.legend", {}, names.map(([name, kind]) => h("span", {}, h(`i.${kind}`), name)));

export async function showPictures(pane, again) {
  if (again) return; // they are drawn when they are asked for, not under the reader's eyes
  pane.replaceChildren(h("h1", {}, "Pictures"), h("p.empty", { role: "status" }, "Drawing…"));
  const mine = turn();
  const told = await get("pictures");
  if (!mine()) return;
  pane.replaceChildren(h("h1", {}, "Pictures"), weeks(told.changes), map(told.map), use(told.use));
}

const KINDS = ["saved", "merged", "decayed", "forgotten"];
const VERBS = { decay: "decayed", merge: "merged", summarize: "merged", consolidate: "merged", forget: "forgotten", undo: "", restore: "" };
const monday = (day) => new Date(Date.parse(day) - ((new Date(day).getUTCDay() + 6) % 7) * 864e5).toISOString().slice(0, 10);

function weeks(changes) {
  const told = {};
  for (const [day, verb, made, gone] of changes) {
    const kind = VERBS[verb] ?? (made ? "saved" : "");
    const week = (told[monday(day)] ??= {});
    week[kind] = (week[kind] || 0) + (kind === "saved" ? made : gone || 1);
  }
  const title = "The notebook over time", about = "Memories saved, merged, decayed and forgotten in each week.";
  const known = Object.keys(told).sort();
  if (!known.length) return figure(title, about, h("p.empty", {}, "Nothing has happened here yet."));
  const now = Date.parse(monday(new Date().toISOString().slice(0, 10))), all = [];
  for (let day = Math.min(Date.parse(known[0]), now - 11 * 6048e5); day <= now; day += 6048e5) {
    const week = new Date(day).toISOString().slice(0, 10);
    all.push({ ...told[week], week });
  }
  const shown = all.slice(-52), wide = 720 / shown.length;
  const total = (one) => KINDS.reduce((sum, kind) => sum + (one[kind] || 0), 0);
  const most = Math.max(1, ...shown.map(total));
  const bars = shown.map((one, at) => {
    let top = 170;
    const said = KINDS.filter((kind) => one[kind]).map((kind) => `${one[kind]} ${kind}`).join(", ");
    return s("g", {}, s("title", {}, `Week of ${one.week}: ${said || "nothing"}`), KINDS.filter((kind) => one[kind]).map((kind) => {
      const high = Math.max(2, (one[kind] / most) * 150);
      return s("rect", { class: kind, x: (at * wide + 1).toFixed(1), y: (top -= high).toFixed(1), width: Math.max(1, Math.min(wide - 2, 40)).toFixed(1), height: high.toFixed(1), rx: 1.5 });
    }));
  });
  const words = [0, Math.floor(shown.length / 2), shown.length - 1].map((at, n) =>
    s("text", { x: at * wide + (n === 2 ? wide : 0), y: 190, "text-anchor": ["start", "middle", "end"][n] }, shown[at].week));
  const sums = KINDS.map((kind) => `${shown.reduce((sum, one) => sum + (one[kind] || 0), 0)} ${kind}`).join(", ");
  const axis = [s("line", { class: "axis", x1: 0, x2: 720, y1: 170.5, y2: 170.5 }), s("text", { x: 0, y: 12 }, `${most} in a week`)];
  return figure(title, about, s("svg", { viewBox: "0 0 720 200", role: "img", "aria-label": `In ${shown.length} weeks: ${sums}.` }, axis, bars, words),
    legend(KINDS.map((kind) => [kind, kind])));
}

function map({ points, links }) {
  const title = "How notes relate", about = "What lies close means something alike; a line is a link. Choose a dot to read it.";
  if (!points.length) return figure(title, about, h("p.empty", {}, "A map needs three notes that were read for their meaning."));
  const names = [...new Set(points.map((one) => one.category))].slice(0, 6);
  const kind = (one) => `c${Math.max(0, names.indexOf(one.category))}`;
  // The picture shows where most lie; what lies far out is drawn at its edge.
  const scale = (axis, room) => {
    const all = points.map((one) => one[axis]).sort((a, b) => a - b);
    const low = all[Math.floor(all.length * 0.02)], high = all[Math.ceil(all.length * 0.98) - 1];
    return (one) => 20 + room * Math.max(-0.02, Math.min(1.02, (one[axis] - low) / (high - low || 1)));
  };
  const x = scale("x", 680), y = scale("y", 420);
  const lines = links.map(([a, b]) => s("line", { x1: x(points[a]), y1: y(points[a]), x2: x(points[b]), y2: y(points[b]) }));
  const size = points.length > 400 ? 3 : 5;
  const dots = points.map((one) => s("a", { href: link(one), tabindex: points.length > 60 ? "-1" : "0", "aria-label": `${one.ref}: ${one.summary}` },
    s("circle", { class: kind(one), cx: x(one), cy: y(one), r: size }), s("title", {}, `${one.ref}  ${one.summary}`)));
  // As many names as there is room for, none over another.
  const many = points.length > 100; // then names stand over dots, but few of them
  const taken = many ? [] : points.map((one) => [x(one) - size, y(one) - size, 2 * size, 2 * size]), labels = [];
  const free = (box) => box[0] > 0 && box[0] + box[2] < 720 && !taken.some((one) => [0, 1].every((at) => one[at] < box[at] + box[at + 2] && box[at] < one[at] + one[at + 2]));
  for (const one of points) {
    const name = called(one), text = name.length > 28 ? `${name.slice(0, 27)}…` : name, wide = text.length * 6;
    const sides = { start: [x(one) + 8, y(one) - 6, wide, 13], end: [x(one) - 8 - wide, y(one) - 6, wide, 13] };
    const side = Object.keys(sides).find((name) => free(sides[name]));
    if (!side || labels.length >= (many ? 20 : 60)) continue;
    taken.push(sides[side]);
    labels.push(s("text", { x: x(one) + (side === "start" ? 8 : -8), y: y(one) + 4, "text-anchor": side }, text));
  }
  return figure(title, about, s("svg", { class: "map", viewBox: "0 0 720 460", role: "group", "aria-label": `A map of ${points.length} notes with ${links.length} links.` }, s("g", { class: "links" }, lines), dots, s("g", { "aria-hidden": "true" }, labels)),
    legend(names.map((name, at) => [name, `c${at}`])));
}

const AGES = ["this week", "this month", "this year", "older", "never", "unknown"];

function use({ days, last }) {
  const counts = {}, ago = (many) => new Date(Date.now() - many * 864e5).toISOString().slice(0, 10);
  const since = [[ago(7), "this week"], [ago(31), "this month"], [ago(366), "this year"], ["0", "older"]];
  for (const [day, many] of Object.entries(days)) {
    const age = day === "never" || day === "unknown" ? day : since.find(([first]) => day >= first)[1];
    counts[age] = (counts[age] || 0) + many;
  }
  const total = Math.max(1, ...AGES.map((age) => counts[age] || 0));
  const rows = AGES.map((age) => h("tr", {}, h("th", { scope: "row" }, age), h("td", {}, h("meter", { max: total, value: counts[age] || 0, "aria-label": `${age}: ${counts[age] || 0}` })), h("td.number", {}, String(counts[age] || 0))));
  return figure("What is used", "When notes were last recalled into an answer. Looking at them here does not count.",
    h("table.meters", {}, h("tbody", {}, rows)),
    last.length > 0 && h("section", {}, h("h3", {}, "Used last"), h("ol", {}, last.map((row) => h("li", {}, h("a", { href: link(row) }, called(row)))))));
}

// ---- Health

export async function showHealth(pane, again) {
  if (again) return;
  pane.replaceChildren(h("h1", {}, "Health"), h("p.empty", { role: "status" }, "Looking…"));
  const mine = turn();
  const { problems, indexes } = await get("health");
  if (!mine()) return;
  const numbers = h("div", { role: "status" }, h("p.quiet", {}, "Asking for notes, to see whether they are found…"));
  pane.replaceChildren(h("h1", {}, "Health"),
    problems.length
      ? h("section.banner", {}, h("h2", {}, `${problems.length} ${problems.length === 1 ? "problem" : "problems"}`), h("ul.plain", {}, problems.map((one) => h("li", {}, one))), h("p.quiet", {}, "Co never changes these files by itself."))
      : h("p.good", {}, "✓ No problems: every file is readable."),
    h("section", {}, h("h2", {}, "Search index"), h("ul.plain", {}, (indexes.length ? indexes : [{ state: "not built yet: nothing is remembered here" }]).map((one) => h("li", {}, `${one.scope === "user" ? "Yours" : "This project"}: ${one.state}`)))),
    h("section", {}, h("h2", {}, "How well notes serve"), numbers));
  const { rows } = await get("eval");
  numbers.replaceChildren(h("table.numbers", {}, h("tbody", {}, rows.map((one) => h("tr", {},
    h("th", { scope: "row" }, one.name), h("td.number", {}, `${one.many} of ${one.of}`),
    h("td", {}, one.refs.slice(0, 12).map((some, at) => [at ? ", " : "", some.split(" ").map((ref, of) => [of ? " " : "", h("a", { href: link({ ref }) }, ref)])])), h("td.quiet", {}, one.many && one.do ? one.do.replace("{}", one.refs[0] || "REF") : ""))))));
}
