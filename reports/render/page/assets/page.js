// The blocks of the document in order.

const BLOCKS = {
  heading: (block, i) => make("h" + Math.min(block.level, 6), { id: "section-" + i }, block.text),
  headline: (block) => make("p", { class: ("headline " + (block.tone ?? "")).trim() }, block.text),
  origin: (block) => make("dl", { class: "origin", "aria-label": "origin" }, ...block.facts.map(([name, text]) =>
    make("div", {}, make("dt", {}, name), make("dd", {}, text)))),
  cards: (block) => make("ul", { class: "cards" }, ...block.cards.map(({ title, text, detail, tone }) =>
    make("li", { class: tone ?? null }, make("span", { class: "title" }, title), make("strong", {}, text),
         make("span", { class: "detail" }, detail)))),
  paragraph: (block) => make("p", { class: block.tone ?? null }, block.text),
  note: (block) => make("p", { class: "note" }, block.text),
  list: (block) => make("ul", {}, ...block.items.map((item) => make("li", {}, item))),
  chart: (block, i) => new ChartView(block.key, i, block.scene).element,
  small_charts: (block) => makeSmallCharts(block),
  timeline: (block) => new TimelineView(block).element,
  table: (block, i, views, { links, sides, isServed }) => {
    let key = block.key + " " + block.label; // a report has a table for each matrix
    while (views.has(key)) key += "+";
    const labels = [...views.values()].filter(({ table }) => table.heading === block.label).length;
    const label = labels === 0 ? block.label : `${block.label}, table ${labels + 1}`;
    const view = new TableView({ ...block, label, name: key, heading: block.label, number: i }, links, sides[block.key], isServed);
    views.set(key, view);
    return view.element;
  },
};

// The elements of all blocks. A folded heading becomes the summary of its section, which ends at the next heading.
function contentOf(blocks, views, site, wasOpen) {
  const out = [];
  let section = null;
  let charts = null; // consecutive charts, which stand beside each other on a wide screen
  blocks.forEach((block, i) => {
    const element = BLOCKS[block.kind](block, i, views, site);
    if (block.kind === "chart" && charts !== null) return charts.append(element);
    charts = block.kind === "chart" ? make("div", { class: "charts" }, element) : null;
    if (block.kind !== "heading") return (section ?? out)[section === null ? "push" : "append"](charts ?? element);
    section = null;
    if (block.folded !== true) return out.push(element);
    section = make("details", { class: "section", open: wasOpen.has(block.text) }, make("summary", {}, element));
    return out.push(section);
  });
  return out;
}

// Puts the document's blocks into the page, replacing the previous ones; tables keep their sorting, filter and columns.
// Returns the tables by their keys.
function show({ title, blocks, places = [], actions = [], controls = [] }, before = new Map()) {
  document.title = title === "" ? "perfbench" : title + " - perfbench";
  const views = new Map();
  const stood = new Map([...before].map(([key, view]) => [key, view.place()]));
  const site = places.length > 0 ? { links: LINKS, sides: SIDES, isServed: true } : { links: {}, sides: {} };
  const content = document.getElementById("content");
  const zooms = ChartView.zooms();
  const wasOpen = new Set([...content.querySelectorAll("details.section[open] > summary")].map((e) => e.textContent));
  content.replaceChildren(...contentOf(blocks, views, site, wasOpen));
  ChartView.all.forEach((view) => view.takeOver(zooms));
  for (const [key, view] of views) if (before.has(key)) view.takeOver(before.get(key), stood.get(key));
  document.getElementById("places").replaceChildren(...places.map(({ text, path }) =>
    make("a", { href: path, "aria-current": path === location.pathname ? "page" : null }, text)));
  document.getElementById("sections").replaceChildren(...blocks.flatMap((block, i) =>
    block.kind === "heading" && block.level === 2 ? [make("a", { href: "#section-" + i }, block.text)] : []));
  showActions(actions);
  showControls(controls);
  document.documentElement.dataset.shown = "yes";
  current = views;
  return views;
}

// On paper, a table shows all its rows, and sections are unfolded.
let current = new Map();
window.addEventListener("beforeprint", () => {
  current.forEach((view) => view.fillAll());
  document.querySelectorAll("details.section").forEach((section) => (section.open = true));
});
window.addEventListener("afterprint", () => current.forEach((view) => view.fillBody()));

startTheme(document.getElementById("theme"));
const first = JSON.parse(document.getElementById("document").textContent);
const shown = show(first);
if (first.places !== undefined) startLive(first, shown);
