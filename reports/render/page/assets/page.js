// The blocks of the document in order.

function drawing(scene) {
  const shapes = scene.shapes.map(({ tag, text, ...attributes }) => {
    const shape = makeSvg(tag, attributes);
    if (text !== undefined) shape.append(tag === "text" ? text : makeSvg("title", {}, text));
    return shape;
  });
  return makeSvg("svg", { viewBox: `0 0 ${scene.width} ${scene.height}`, role: "img", "aria-label": scene.title },
                 ...shapes);
}

const BLOCKS = {
  heading: (block, i) => make("h" + Math.min(block.level, 6), { id: "section-" + i }, block.text),
  paragraph: (block) => make("p", { class: block.tone ?? null }, block.text),
  note: (block) => make("p", { class: "note" }, block.text),
  list: (block) => make("ul", {}, ...block.items.map((item) => make("li", {}, item))),
  chart: (block) => make("figure", { "data-key": block.key }, make("figcaption", {}, block.scene.title),
                         drawing(block.scene)),
  timeline: (block) => new TimelineView(block).element,
  table: (block, i, views, { links, sides }) => {
    const view = new TableView({ ...block, number: i }, links, sides[block.key]);
    let key = block.key + " " + block.label; // a report has a table for each matrix
    while (views.has(key)) key += "+";
    views.set(key, view);
    return view.element;
  },
};

// Puts the document's blocks into the page, replacing the previous ones; tables keep their sorting, filter and columns.
// Returns the tables by their keys.
function show({ title, blocks, places = [], actions = [] }, before = new Map()) {
  document.title = title === "" ? "perfbench" : title + " - perfbench";
  const views = new Map();
  const stood = new Map([...before].map(([key, view]) => [key, view.place()]));
  const site = places.length > 0 ? { links: LINKS, sides: SIDES } : { links: {}, sides: {} };
  document.getElementById("content").replaceChildren(...blocks.map((block, i) => BLOCKS[block.kind](block, i, views, site)));
  for (const [key, view] of views) if (before.has(key)) view.takeOver(before.get(key), stood.get(key));
  document.getElementById("places").replaceChildren(...places.map(({ text, path }) =>
    make("a", { href: path, "aria-current": path === location.pathname ? "page" : null }, text)));
  document.getElementById("sections").replaceChildren(...blocks.flatMap((block, i) =>
    block.kind === "heading" && block.level <= 2 ? [make("a", { href: "#section-" + i }, block.text)] : []));
  showActions(actions);
  document.documentElement.dataset.shown = "yes";
  current = views;
  return views;
}

// On paper, a table shows all its rows.
let current = new Map();
window.addEventListener("beforeprint", () => current.forEach((view) => view.fillAll()));
window.addEventListener("afterprint", () => current.forEach((view) => view.fillBody()));

startTheme(document.getElementById("theme"));
const first = JSON.parse(document.getElementById("document").textContent);
const shown = show(first);
if (first.places !== undefined) startLive(first, shown);
