// A timeline: lanes of spans, zoomed with the wheel or + and -, moved by dragging or with the arrow keys, and searched
// by name. {title, names, kinds, lanes: [{name, rows, spans: [[name, kind, row, start us, length us], ...]}],
// length_us, coloured}.

const ROW = 18;
const LANE_TITLE = 20;
const PALE = 0.15; // the opacity of a span that a search does not find
const AROUND = 8; // how much wider than a span that was searched for the view of it is

class TimelineView {
  constructor(timeline) {
    this.timeline = timeline;
    this.from = 0;
    this.to = timeline.length_us;
    this.height = timeline.lanes.reduce((sum, lane) => sum + LANE_TITLE + lane.rows * ROW, ROW);
    this.canvas = make("canvas", { tabindex: "0", role: "img",
                                   "aria-label": timeline.title + ": + and - zoom, arrows move, 0 shows all" });
    this.canvas.style.height = `${this.height}px`;
    this.said = make("p", { class: "note", role: "status" }, "Point at a span; + and - or the wheel zoom, arrows move.");
    this.colours = timeline.kinds.map((kind) => timeline.coloured.indexOf(kind) + 1); // of each kind; 0: grey
    this.found = null; // the spans whose name contains the words, by start; null: no search
    this.search = make("input", { type: "search", placeholder: "find a name",
                                  "aria-label": "find a name in the timeline; Enter shows the next span" });
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", (event) => event.key === "Enter" && this.next());
    this.element = make("figure", { class: "timeline", "data-key": timeline.key },
                        make("figcaption", {}, timeline.title), this.search, this.canvas, this.legend(), this.said);
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
    new MutationObserver(() => this.draw()).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  }

  legend() {
    const kinds = this.timeline.kinds.map((kind, i) => {
      const colour = this.colours[i];
      return make("li", {}, make("span", { class: `swatch ${colour === 0 ? "grey" : `series-${colour}`}`,
                                           "aria-hidden": "true" }), kind);
    });
    return make("ul", { class: "kinds" }, ...kinds);
  }
  find() {
    const words = this.search.value.trim().toLowerCase();
    const names = new Set(this.timeline.names.flatMap((name, i) => (name.toLowerCase().includes(words) ? [i] : [])));
    const lanes = this.timeline.lanes.filter((lane) => !lane.repeats_others);
    this.found = words === "" ? null : lanes.flatMap(({ spans }) => spans.filter(([name]) => names.has(name)));
    this.found?.sort(([, , , a], [, , , b]) => a - b);
    this.nextFound = 0;
    const sum = this.found?.reduce((all, [, , , , length]) => all + length, 0) ?? 0;
    this.said.textContent = words === "" ? "" : `${this.found.length} spans, ${sum.toFixed(1)} us in all`;
    this.draw();
  }
  next() {
    if (!this.found?.length) return;
    const [, , , start, length] = this.found[this.nextFound];
    this.nextFound = (this.nextFound + 1) % this.found.length;
    const margin = (length * (AROUND - 1)) / 2;
    this.show(start - margin, start + length + margin);
  }

  show(from, to) {
    const all = this.timeline.length_us;
    const length = Math.min(Math.max(to - from, 0.1), all);
    this.from = Math.min(Math.max(from, 0), all - length);
    this.to = this.from + length;
    this.draw();
  }
  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  key(event) {
    const step = (this.to - this.from) / 8;
    const keys = {
      "+": () => this.zoom(0.5),
      "-": () => this.zoom(2),
      0: () => this.show(0, this.timeline.length_us),
      ArrowLeft: () => this.show(this.from - step, this.to - step),
      ArrowRight: () => this.show(this.from + step, this.to + step),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  }
  time(x) {
    return this.from + (x / this.canvas.clientWidth) * (this.to - this.from);
  }
  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey && document.activeElement !== this.canvas) return;  // lets the page scroll
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.time(event.offsetX));
  }
  point(event) {
    if (event.buttons === 1) {
      const moved = (event.movementX / this.canvas.clientWidth) * (this.to - this.from);
      this.show(this.from - moved, this.to - moved);
      return;
    }
    const found = this.at(this.time(event.offsetX), event.offsetY);
    if (found === null) return;
    const [name, kind, , start, length] = found;
    const { names, kinds } = this.timeline;
    this.said.textContent = `${names[name]} (${kinds[kind]}): ${length.toFixed(1)} us, from ${start.toFixed(1)} us on`;
  }
  at(time, y) {
    let top = ROW;
    for (const lane of this.timeline.lanes) {
      const row = Math.floor((y - top - LANE_TITLE) / ROW);
      top += LANE_TITLE + lane.rows * ROW;
      if (y < top) {
        return lane.spans.findLast(([, , r, start, length]) => r === row && start <= time && time <= start + length) ?? null;
      }
    }
    return null;
  }

  draw() {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    const scale = window.devicePixelRatio;
    this.canvas.width = width * scale;
    this.canvas.height = this.height * scale;
    const context = this.canvas.getContext("2d");
    context.scale(scale, scale);
    const style = getComputedStyle(this.canvas);
    const colour = (name) => {
      // A canvas does not accept colour variables, so it uses the colours that the browser has computed.
      this.canvas.style.color = `var(--${name})`;
      return style.color;
    };
    const look = { ink: colour("ink"), faint: colour("faint"), line: colour("line"), paper: colour("paper"),
                   series: [colour("line"), ...this.timeline.coloured.map((_, i) => colour(`series-${i + 1}`))] };
    const found = this.found === null ? null : new Set(this.found);
    this.canvas.style.color = "";
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    const x = (time) => ((time - this.from) / (this.to - this.from)) * width;
    this.scale(context, look, width, x);
    let top = ROW;
    for (const lane of this.timeline.lanes) {
      context.fillStyle = look.faint;
      context.fillText(lane.name, 2, top + LANE_TITLE / 2);
      top += LANE_TITLE;
      for (const span of lane.spans) {
        const [name, kind, row, start, length] = span;
        if (start + length < this.from || start > this.to) continue;
        const left = Math.max(x(start), -1);
        const wide = Math.max(Math.min(x(start + length), width + 1) - left, 0.5);
        const number = this.colours[kind];
        context.globalAlpha = found === null || found.has(span) ? 1 : PALE;
        context.fillStyle = look.series[number];
        context.fillRect(left, top + row * ROW, wide, ROW - 2);
        const ink = number === 0 ? look.ink : look.paper;
        if (wide > 40) this.label(context, ink, this.timeline.names[name], left, top + row * ROW, wide);
        context.globalAlpha = 1;
      }
      top += lane.rows * ROW;
    }
  }
  label(context, ink, text, left, top, wide) {
    context.save();
    context.beginPath();
    context.rect(left, top, wide - 2, ROW);
    context.clip();
    context.fillStyle = ink;
    context.fillText(text, Math.max(left, 0) + 3, top + ROW / 2 - 1);
    context.restore();
  }
  scale(context, look, width, x) {
    const rough = ((this.to - this.from) / width) * 100;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      context.fillStyle = look.line;
      context.fillRect(x(time), 0, 1, this.height);
      context.fillStyle = look.faint;
      context.fillText(time >= 1000 ? `${+(time / 1000).toPrecision(6)} ms` : `${+time.toPrecision(6)} us`, x(time) + 3, ROW / 2);
    }
  }
}
