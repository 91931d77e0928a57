// Selects two rows of a table for a comparison side by side: a box before each row, and a link once two are selected.
// If three are selected, the last two count.

class RowPicks {
  // address(left, right): the page that shows both, from the texts of the column.
  constructor(column, address) {
    this.column = column;
    this.address = address;
    this.picked = [];  // texts, in the order of selection
    this.boxes = new Map();  // boxes of the rows in the page, by text
    this.element = make("span", { class: "picks", role: "status" });
  }

  heading() {
    return make("th", { scope: "col", class: "pick" }, "Pick");
  }

  cell(row) {
    const text = this.column.texts[this.column.of[row]];
    if (text === "-") return make("td", { class: "pick" });
    const box = make("input", { type: "checkbox", "aria-label": "Pick " + text });
    box.checked = this.picked.includes(text);
    box.addEventListener("change", () => {
      this.set(box.checked ? [...this.picked, text].slice(-2) : this.picked.filter((one) => one !== text));
    });
    this.boxes.set(box, text);
    return make("td", { class: "pick" }, box);
  }

  set(picked) {
    this.picked = picked;
    for (const [box, text] of this.boxes) box.checked = picked.includes(text);
    this.element.replaceChildren(
      picked.length === 2 ? make("a", { href: this.address(...picked) }, "Hold the two side by side")
      : picked.length === 1 ? "One is selected; select another one to compare it with." : "");
  }

  // Rows that are gone from the table are not selected any more.
  takeOver(before) {
    this.set(before.picked.filter((text) => this.column.texts.includes(text)));
  }

  focus(text) {
    for (const [box, one] of this.boxes) if (one === text) box.focus();
  }
}
