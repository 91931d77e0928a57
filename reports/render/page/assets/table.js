// A table of the document: sorted by a click on the title of a column, filtered by words, with a choice of columns. In
// a long table only the visible rows are elements. Columns hold their distinct texts once: {title, right, hidden,
// shared, texts: [...], values: [...] or null, tones: {text number: tone}, of: [text number by row]}. A shared setting
// stands above the table, and its column is not shown at first.

const FEW_ROWS = 5;
const LONG_ROWS = 200;
const SHORT_TEXT = 30;  // shorter texts stay on one line
const ROWS_BESIDE = 20;  // extra rows above and below the visible ones

function compareBy(column) {
  if (column.values === null) {
    const order = new Intl.Collator("en", { numeric: true });
    const rank = [...column.texts.keys()].sort((a, b) => order.compare(column.texts[a], column.texts[b]));
    const place = new Array(rank.length);
    rank.forEach((text, i) => (place[text] = i));
    return (a, b) => place[column.of[a]] - place[column.of[b]];
  }
  // Rows without a value come last in either direction.
  return (a, b, direction) => {
    const x = column.values[column.of[a]];
    const y = column.values[column.of[b]];
    if (x === null || y === null) return x === y ? 0 : (x === null ? 1 : -1) * direction;
    return x - y;
  };
}

// Words that a row must contain, in any of its columns.
function matching(table, words) {
  const rows = [...Array(table.rows).keys()];
  if (words.length === 0) return rows;
  const hits = table.columns.map((column) => column.texts.map((text) => {
    const lower = text.toLowerCase();
    return words.map((word) => lower.includes(word));
  }));
  return rows.filter((row) => words.every((_, w) => table.columns.some((column, c) => hits[c][column.of[row]][w])));
}

class TableView {
  // links: addresses by the key of a column, made from a text. sides: the column that identifies rows, and the address
  // for two of its texts; or nothing. isServed: the address keeps the reader's view of the table.
  constructor(table, links, sides, isServed = false) {
    this.table = table;
    this.links = links;
    const told = table.columns.find(({ key, texts }) => key === sides?.column && texts.filter((text) => text !== "-").length > 1);
    this.picks = told === undefined ? null : new RowPicks(told, sides.address);
    const leads = ({ key, texts }) => Object.hasOwn(links, key) && texts.some((text) => text !== "");
    this.common = table.columns.filter(({ shared }) => shared);
    this.shownAtFirst = table.columns.map((column) => leads(column) || (!column.hidden && !this.common.includes(column)));
    this.shown = [...this.shownAtFirst];
    this.sorted = null; // {column, direction}
    this.rows = [...Array(table.rows).keys()];
    this.long = table.rows > LONG_ROWS;
    this.head = make("thead");
    this.body = make("tbody");
    this.scroll = make("div", { class: this.long ? "scroll long" : "scroll", tabindex: "0", role: "region",
                                "aria-label": table.label },
                       make("table", { "aria-rowcount": String(table.rows + 1) }, this.head, this.body));
    this.count = make("span", { class: "count", role: "status" });
    if (this.long) {
      this.scroll.addEventListener("scroll", () => this.fillBody());
      new ResizeObserver(() => this.fillBody()).observe(this.scroll);  // also runs when it first gets a size
    }
    this.element = make("section", { class: "table", "data-key": table.key }, ...this.commonValues(), ...this.tools(),
                        this.scroll, this.footnotes());
    this.isServed = isServed;
    this.restore(isServed ? savedView(table.name) : {});
  }

  // Columns for people alone have no key.
  names() {
    return this.table.columns.map(({ key, title }) => key || title);
  }
  // The reader's view of the table: {sort: "NAME:asc", words, columns: [NAME]}, each only if it was chosen.
  save() {
    if (!this.isServed) return;
    const names = this.names();
    const view = {};
    if (this.sorted !== null) view.sort = names[this.sorted.column] + (this.sorted.direction > 0 ? ":asc" : ":desc");
    if (this.filter?.value) view.words = this.filter.value;
    if (this.shown.some((shown, i) => shown !== this.shownAtFirst[i])) {
      view.columns = names.filter((_, i) => this.shown[i]);
    }
    saveView(this.table.name, view);
  }
  restore({ sort, words, columns }) {
    const names = this.names();
    if (Array.isArray(columns)) this.shown = names.map((name) => columns.includes(name));
    const [, name, direction] = /^(.*):(asc|desc)$/.exec(String(sort)) ?? [];
    const column = names.indexOf(name);
    if (column >= 0) this.sorted = { column, direction: direction === "asc" ? 1 : -1 };
    this.boxes?.forEach((box, i) => (box.checked = this.shown[i]));
    if (this.filter !== undefined) this.filter.value = String(words ?? "");
    this.fillHead();
    this.update(this.filter?.value ?? "");
  }

  commonValues() {
    const told = this.common.filter(({ texts }) => texts[0] !== "-");
    if (told.length === 0) return [];
    return [make("dl", { class: "common", "aria-label": "the same in all rows" },
                 ...told.map(({ title, texts }) => make("div", {}, make("dt", {}, title), make("dd", {}, texts[0]))))];
  }

  // A table with few rows needs no tools.
  tools() {
    const picks = this.picks === null ? [] : [this.picks.element];
    if (this.table.rows <= FEW_ROWS) return picks.map((element) => make("div", { class: "tools" }, element));
    const filter = this.filter = make("input", { type: "search", placeholder: "words a row must have", "aria-label": "Filter rows" });
    filter.addEventListener("input", () => {
      this.update(filter.value);
      this.save();
    });
    this.boxes = [];
    const choices = this.table.columns.map((column, i) => {
      const box = make("input", { type: "checkbox", checked: this.shown[i] });
      box.addEventListener("change", () => {
        this.shown[i] = box.checked;
        this.fillHead();
        this.fillBody();
        this.save();
      });
      this.boxes.push(box);
      return make("label", {}, box, " " + column.title);
    });
    return [make("div", { class: "tools" }, filter, this.count,
                 make("details", { class: "columns" }, make("summary", {}, "Columns"),
                      make("fieldset", {}, make("legend", {}, "Shown"), ...choices)), ...picks)];
  }

  footnotes() {
    return make("ol", { class: "footnotes" },
                ...this.table.notes.map((note, i) => make("li", { id: this.noteId(i) }, `[${i + 1}] ${note}`)));
  }
  noteId(i) {
    return `note-${this.table.number}-${i + 1}`;
  }

  fillHead() {
    const cells = this.table.columns.map((column, i) => {
      if (!this.shown[i]) return null;
      const direction = this.sorted?.column === i ? this.sorted.direction : 0;
      const button = make("button", { type: "button" }, column.title + (direction > 0 ? " ▲" : direction < 0 ? " ▼" : ""));
      button.addEventListener("click", () => this.sort(i));
      return make("th", { scope: "col", class: column.right ? "right" : null, "data-key": column.key,
                          "aria-sort": direction > 0 ? "ascending" : direction < 0 ? "descending" : "none" }, button);
    });
    const picks = this.picks === null ? [] : [this.picks.heading()];
    this.head.replaceChildren(make("tr", {}, ...picks, ...cells.filter((cell) => cell !== null)));
  }

  sort(column) {
    const again = this.sorted?.column === column;
    this.sorted = { column, direction: again ? -this.sorted.direction : 1 };
    this.order();
    this.fillHead();
    this.head.querySelectorAll("th > button")[this.shown.slice(0, column).filter(Boolean).length].focus();
    this.fillBody();
    this.save();
  }
  order() {
    if (this.sorted === null) return;
    const { column, direction } = this.sorted;
    const compare = compareBy(this.table.columns[column]);
    this.rows.sort((a, b) => direction * compare(a, b, direction) || a - b);
  }

  update(text) {
    this.rows = matching(this.table, text.toLowerCase().split(/\s+/).filter((word) => word !== ""));
    this.order();
    const of = this.table.rows;
    this.count.textContent = this.rows.length === of ? `${of} rows` : `${this.rows.length} of ${of} rows`;
    this.scroll.scrollTop = 0;
    this.fillBody();
  }

  row(row, place) {
    const cells = this.table.columns.map((column, i) => {
      if (!this.shown[i]) return null;
      const text = column.texts[column.of[row]];
      const tone = column.tones[column.of[row]];
      const classes = [column.right ? "right" : "", text.length <= SHORT_TEXT ? "short" : "", tone ?? ""].join(" ").trim();
      const link = Object.hasOwn(this.links, column.key) && text !== "-" ? this.links[column.key](text) : null;
      return make("td", { class: classes || null, title: this.long ? text : null },
                  link === null ? text : make("a", { href: link }, text));
    }).filter((cell) => cell !== null);
    const notes = this.table.row_notes[row] ?? [];
    for (const note of notes) {
      cells.at(-1)?.append(" ", make("a", { class: "mark", href: "#" + this.noteId(note) }, `[${note + 1}]`));
    }
    if (this.picks !== null) cells.unshift(this.picks.cell(row));
    return make("tr", { "aria-rowindex": String(place + 2) }, ...cells);
  }

  // State that is lost as soon as its elements leave the page.
  place() {
    return { focused: this.filter !== undefined && this.filter === document.activeElement,
             picking: this.picks?.boxes.get(document.activeElement), left: this.scroll.scrollLeft,
             top: this.scroll.scrollTop };
  }

  // Takes over the sorting, filter, columns and scroll position of the previous table.
  takeOver(before, place) {
    this.shown = this.table.columns.map((column, i) => {
      const there = before.table.columns.findIndex(({ key }) => key === column.key);
      const chosen = there >= 0 && before.shown[there] !== before.shownAtFirst[there];
      return chosen ? before.shown[there] : this.shown[i];
    });
    if (before.sorted !== null) {
      const column = this.table.columns.findIndex(({ key }) => key === before.table.columns[before.sorted.column].key);
      if (column >= 0) this.sorted = { column, direction: before.sorted.direction };
    }
    if (before.picks !== null) this.picks?.takeOver(before.picks);
    const words = before.filter?.value ?? "";
    if (this.filter !== undefined) this.filter.value = words;
    this.fillHead();
    this.update(this.filter === undefined ? "" : words);
    if (place.focused) this.filter?.focus();
    this.scroll.scrollTo(place.left, place.top);
    if (place.picking !== undefined) this.picks?.focus(place.picking);
  }

  // Replaces the rows; the selection stays.
  fillWith(rows) {
    const picking = this.picks?.boxes.get(document.activeElement);
    this.picks?.boxes.clear();
    this.body.replaceChildren(...rows());
    if (picking !== undefined) this.picks.focus(picking);
  }
  fillAll() {
    this.fillWith(() => this.rows.map((row, i) => this.row(row, i)));
  }
  fillBody() {
    if (!this.long) return this.fillAll();
    const height = this.rowHeight();
    const first = Math.max(0, Math.floor(this.scroll.scrollTop / height) - ROWS_BESIDE);
    const seen = Math.ceil(this.scroll.clientHeight / height) + 2 * ROWS_BESIDE;
    const end = Math.min(this.rows.length, first + Math.max(seen, 2 * ROWS_BESIDE));
    const gap = (rows) => make("tr", { class: "gap", "aria-hidden": "true" }, this.gapCell(rows * height));
    this.fillWith(() => [gap(first), ...this.rows.slice(first, end).map((row, i) => this.row(row, first + i)),
                         gap(this.rows.length - end)]);
  }
  gapCell(height) {
    const cell = make("td", { colspan: String(this.shown.filter(Boolean).length + (this.picks === null ? 0 : 1)) });
    cell.style.height = `${height}px`;
    return cell;
  }
  rowHeight() {
    const row = this.body.querySelector("tr:not(.gap)");
    const found = row === null ? 0 : row.getBoundingClientRect().height;
    if (found > 0) this.height = found;
    return this.height ?? 29;
  }
}
