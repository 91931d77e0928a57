// A chart of the document: its shapes, the values at the pointer, and a zoom along x by dragging. The shapes of data are
// in an inner drawing, which is stretched to zoom; the ticks below it are made anew. Charts with equal x axes share the
// line at the pointer.

const DATA_SHAPES = ["dot", "line", "ideal", "interval", "bar", "strip", "heat", "inside", "shade"];
const SMALLEST_DRAG = 8;
const BESIDE = 8; // pixels between a point and its name
const WANTED_TICKS = 8;

function linearTicks(low, high) {
  const rough = (high - low) / WANTED_TICKS;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return [...Array(Math.max(count, 0)).keys()].map((i) => (first + i) * step);
}

// The ticks of a zoomed axis. On a logarithmic one they are linear, because a zoom covers few powers of ten.
function zoomedTicks(axis, low, high) {
  if (axis.categories.length === 0) return linearTicks(low, high).map((at) => ({ at, text: String(Number(at.toPrecision(6))) }));
  const names = axis.categories.map((text, at) => ({ at, text })).filter(({ at }) => at >= low && at <= high);
  const each = Math.max(1, Math.ceil(names.length / WANTED_TICKS));
  return names.filter((_, i) => i % each === 0);
}

function makeShape({ tag, text, ...attributes }) {
  const shape = makeSvg(tag, attributes);
  if (text !== undefined) shape.append(tag === "text" ? text : makeSvg("title", {}, text));
  return shape;
}

// The id of a chart's figure, from its key, which may have spaces.
function chartId(key) {
  return "chart-" + encodeURIComponent(key);
}

// Small charts, each a link to a large one. A folded section opens for its chart; some browsers do not do so themselves.
function makeSmallCharts({ key, caption, charts }) {
  const open = (id) => document.getElementById(id)?.closest("details")?.setAttribute("open", "");
  const items = charts.map(({ text, value, tone, opens, scene }) => {
    const link = make("a", { href: "#" + chartId(opens) }, make("span", { class: "title" }, scene.title),
      make("span", { class: "value" }, value, " ", make("span", { class: tone ?? null }, text)),
      makeSvg("svg", { viewBox: `0 0 ${scene.width} ${scene.height}`, "aria-hidden": "true" }, ...scene.shapes.map(makeShape)));
    link.addEventListener("click", () => open(chartId(opens)));
    return make("li", { class: tone ?? null }, link);
  });
  return make("section", { "data-key": key }, make("p", { class: "note" }, caption), make("ul", { class: "small-charts" }, ...items));
}

class ChartView {
  static all = new Set();

  constructor(key, number, scene) {
    this.name = `${key} ${number}`;
    this.scene = scene;
    this.plot = scene.plot;
    this.isHeatMap = false;
    this.shown = [0, 1]; // the visible part of the x axis, as shares of it
    this.marks = scene.readings.map(([x, y, text]) => ({ x, y, text }));
    this.names = []; // texts beside points, which move with them
    this.inner = makeSvg("svg", { class: "data", preserveAspectRatio: "none", x: this.plot.left, y: this.plot.top,
                                  width: this.width(), height: this.plot.bottom - this.plot.top });
    this.ticks = [];
    this.cursor = makeSvg("line", { class: "cursor", visibility: "hidden" });
    this.selection = makeSvg("rect", { class: "selection", visibility: "hidden" });
    this.svg = makeSvg("svg", { viewBox: `0 0 ${scene.width} ${scene.height}`, role: "img", "aria-label": scene.title });
    for (const shape of scene.shapes) this.add(shape);
    this.svg.append(this.inner, this.cursor, this.selection);
    this.whole = make("button", { type: "button", hidden: true }, "Show all");
    this.whole.addEventListener("click", () => this.zoomAll(0, 1));
    this.readout = make("div", { class: "readout", hidden: true });
    this.element = make("figure", { "data-key": key, id: chartId(key) }, make("figcaption", {}, scene.title, " ", this.whole),
                        make("div", { class: "scroll-chart", tabindex: "0", role: "region", "aria-label": scene.title },
                             this.svg), this.readout);
    this.svg.addEventListener("pointermove", (event) => this.move(event));
    this.svg.addEventListener("pointerleave", () => ChartView.all.forEach((view) => view.point(null)));
    if (!scene.sideways) {
      this.svg.addEventListener("pointerdown", (event) => this.press(event));
      this.svg.addEventListener("pointerup", (event) => this.release(event));
      this.svg.addEventListener("pointercancel", () => this.forget());
      this.svg.addEventListener("dblclick", () => this.zoomAll(0, 1));
    }
    this.zoom(0, 1);
    ChartView.all.add(this);
  }

  // The visible part of each zoomed chart, in the values of its axis; forgets the charts.
  static zooms() {
    const zoomed = [...ChartView.all].filter((view) => view.shown[0] > 0 || view.shown[1] < 1);
    ChartView.all.clear();
    return new Map(zoomed.map((view) => [view.name, view.shown.map((share) => view.valueAt(share))]));
  }
  takeOver(zooms) {
    const values = zooms.get(this.name);
    if (values === undefined) return;
    const [from, to] = values.map((value) => Math.min(Math.max(this.shareOf(value), 0), 1));
    this.zoom(from, to);
  }

  // Values of the x axis, as shares of the whole axis.
  valueAt(share) {
    const { log, low, high } = this.scene.x;
    return log ? low * (high / low) ** share : low + (high - low) * share;
  }
  shareOf(value) {
    const { log, low, high } = this.scene.x;
    return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  }
  width() {
    return this.plot.right - this.plot.left;
  }

  add({ tag, text, ...attributes }) {
    const kind = (attributes.class ?? "").split(" ")[0];
    // The legend is below the plot.
    const top = Number(attributes.cy ?? attributes.y ?? attributes.y1 ?? 0);
    const isData = DATA_SHAPES.includes(kind) && top <= this.plot.bottom + 1;
    const shape = makeShape({ tag, text, ...attributes });
    if (tag === "circle" && isData) return this.addDot(attributes, text);
    if (isData && text !== undefined && tag === "rect" && kind !== "shade") {
      const [width, height] = [Number(attributes.width), Number(attributes.height)];
      this.marks.push({ x: Number(attributes.x) + width / 2, y: Number(attributes.y) + height / 2, width, height, text });
      this.isHeatMap ||= kind === "heat";
    }
    if (attributes.class === "tick name") {
      const beside = attributes["text-anchor"] === "start" ? BESIDE : -BESIDE;
      this.names.push({ shape, beside, x: Number(attributes.x) - beside });
    }
    const isTick = tag === "text" && kind === "tick" && Number(attributes.y) === this.plot.bottom + 17;
    const isTickLine = tag === "line" && kind === "axis" && Number(attributes.y2) === this.plot.bottom + 4;
    if (isTick || isTickLine) this.ticks.push(shape);
    (isData ? this.inner : this.svg).append(shape);
  }

  // A line of length 0 with round ends, because a circle in a stretched drawing would become an ellipse.
  addDot({ cx, cy, r, class: look }, text) {
    this.marks.push({ x: Number(cx), y: Number(cy), text });
    this.inner.append(makeSvg("path", { d: `M${cx} ${cy}h0.001`, class: look + " round", "stroke-width": 2 * r },
                              makeSvg("title", {}, text)));
  }

  // Where the pointer is, in units of the whole, unzoomed drawing.
  place(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.scene.width / box.width;
    const x = (event.clientX - box.left) * scale;
    const [from, to] = this.shown;
    return { x: this.plot.left + this.width() * (from + (to - from) * (x - this.plot.left) / this.width()),
             y: (event.clientY - box.top) * scale, drawn: x };
  }
  drawnX(x) {
    const [from, to] = this.shown;
    return this.plot.left + this.width() * ((x - this.plot.left) / this.width() - from) / (to - from);
  }

  move(event) {
    const at = this.place(event);
    if (this.pressed !== undefined) return this.select(this.pressed.drawn, at.drawn);
    const { marks } = this;
    const away = this.isHeatMap ? (mark) => Math.max(Math.abs(mark.x - at.x) / mark.width, Math.abs(mark.y - at.y) / mark.height)
      : this.scene.sideways ? (mark) => Math.abs(mark.y - at.y) : (mark) => Math.abs(mark.x - at.x);
    const nearest = marks.reduce((best, mark) => (best === null || away(mark) < away(best) ? mark : best), null);
    const isInside = at.drawn >= this.plot.left && at.drawn <= this.plot.right && at.y >= this.plot.top && at.y <= this.plot.bottom;
    if (nearest === null || !isInside) return ChartView.all.forEach((view) => view.point(null));
    for (const view of ChartView.all) {
      if (view === this || view.sharesAxisWith(this)) view.point(nearest.x, this.scene.sideways);
      else view.point(null);
    }
    const here = marks.filter((mark) => this.isHeatMap ? mark === nearest : this.scene.sideways ? Math.abs(mark.y - nearest.y) < 1 : Math.abs(mark.x - nearest.x) < 0.5);
    this.readout.replaceChildren(...here.slice(0, 8).map(({ text }) => make("div", {}, text)));
    this.readout.hidden = false;
  }
  sharesAxisWith(other) {
    const key = ({ scene }) => JSON.stringify([scene.sideways, scene.x, scene.plot.left, scene.plot.right]);
    return !this.scene.sideways && key(this) === key(other);
  }
  point(x, sideways = false) {
    const isShown = x !== null && !sideways && this.drawnX(x) >= this.plot.left - 1 && this.drawnX(x) <= this.plot.right + 1;
    this.cursor.setAttribute("visibility", isShown ? "visible" : "hidden");
    if (x === null) this.readout.hidden = true;
    if (!isShown) return;
    fill(this.cursor, { x1: this.drawnX(x), x2: this.drawnX(x), y1: this.plot.top, y2: this.plot.bottom }, []);
  }

  press(event) {
    const at = this.place(event);
    if (event.button !== 0 || at.drawn < this.plot.left || at.drawn > this.plot.right) return;
    this.pressed = at;
    this.svg.setPointerCapture(event.pointerId);
  }
  select(from, to) {
    const [left, right] = [Math.min(from, to), Math.max(from, to)].map((x) => Math.min(Math.max(x, this.plot.left), this.plot.right));
    this.selection.setAttribute("visibility", "visible");
    fill(this.selection, { x: left, width: right - left, y: this.plot.top, height: this.plot.bottom - this.plot.top }, []);
  }
  release(event) {
    if (this.pressed === undefined) return;
    const [from, to] = [this.pressed, this.place(event)];
    this.forget();
    if (Math.abs(to.drawn - from.drawn) < SMALLEST_DRAG) return;
    const share = ({ x }) => Math.min(Math.max((x - this.plot.left) / this.width(), 0), 1);
    const [low, high] = [share(from), share(to)].sort((a, b) => a - b);
    this.zoomAll(low, high);
  }
  forget() {
    this.pressed = undefined;
    this.selection.setAttribute("visibility", "hidden");
  }

  zoomAll(from, to) {
    for (const view of ChartView.all) if (view === this || view.sharesAxisWith(this)) view.zoom(from, to);
  }

  zoom(from, to) {
    if (to - from < 1e-6) return;
    this.shown = [from, to];
    const { left, top, bottom } = this.plot;
    this.inner.setAttribute("viewBox", `${left + this.width() * from} ${top} ${this.width() * (to - from)} ${bottom - top}`);
    const isWhole = from === 0 && to === 1;
    this.inner.setAttribute("overflow", isWhole ? "visible" : "hidden");
    this.whole.hidden = isWhole;
    this.zoomed?.forEach((shape) => shape.remove());
    this.ticks.forEach((shape) => shape.setAttribute("visibility", isWhole ? "visible" : "hidden"));
    this.zoomed = isWhole ? [] : this.newTicks();
    this.svg.append(...this.zoomed);
    for (const { shape, x, beside } of this.names) {
      const drawn = this.drawnX(x);
      shape.setAttribute("x", drawn + beside);
      shape.setAttribute("visibility", drawn >= left - 1 && drawn <= this.plot.right + 1 ? "visible" : "hidden");
    }
  }
  newTicks() {
    const { x, plot } = this.scene;
    const [from, to] = this.shown;
    return zoomedTicks(x, this.valueAt(from), this.valueAt(to)).map(({ at, text }) =>
      makeSvg("text", { x: this.drawnX(plot.left + this.width() * this.shareOf(at)), y: plot.bottom + 17,
                        "text-anchor": "middle", class: "tick" }, text));
  }
}
