"""Checks of a page's layout in a browser: what is cut off, what overlaps, what is too small, what is below the fold.

Each check is a script that returns lines; no line means that nothing was found.
"""

SMALLEST_TEXT_PX = 12

# Texts with the rectangle in which they are visible: [{text, element, left, top, right, bottom, whole}]. `whole` is the
# rectangle before scrolling containers clip it.
TEXTS = """
const shownIn = (box, clip) => ({ left: Math.max(box.left, clip.left), top: Math.max(box.top, clip.top),
                                  right: Math.min(box.right, clip.right), bottom: Math.min(box.bottom, clip.bottom) });
const textBoxes = () => {
  const out = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || element.closest("script, style, noscript, title, .skip") !== null) continue;
    if (!element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      const whole = { left: rect.left, top: rect.top, right: rect.right, bottom: rect.bottom };
      let box = whole;
      for (let e = element; e !== null && e !== document.body; e = e.parentElement) {
        const style = getComputedStyle(e);
        if (style.overflowX !== "visible" || style.overflowY !== "visible") box = shownIn(box, e.getBoundingClientRect());
      }
      if (box.right - box.left < 1 || box.bottom - box.top < 1) continue;
      out.push({ text: node.textContent.trim().slice(0, 50), element, whole, ...box });
    }
  }
  return out;
};
"""

# Lines of text that lie over each other. Boxes of a line are higher than its letters, so a fifth of the height counts
# as free.
OVERLAPS = TEXTS + """
const boxes = textBoxes().sort((a, b) => a.top - b.top);
const found = [];
for (let i = 0; i < boxes.length; ++i) {
  const a = boxes[i];
  for (let j = i + 1; j < boxes.length && boxes[j].top < a.bottom; ++j) {
    const b = boxes[j];
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 0.2 * Math.min(a.bottom - a.top, b.bottom - b.top)) found.push(`"${a.text}" over "${b.text}"`);
  }
}
return [...new Set(found)];
"""

# Text that nothing can bring into view: outside of its drawing, or behind an edge that does not scroll. A shortened
# text has the whole one as its title.
CUT_OFF = TEXTS + """
const found = [];
const width = document.documentElement.clientWidth;
if (document.documentElement.scrollWidth > width) {
  found.push(`the page is ${document.documentElement.scrollWidth} pixels wide, the window ${width}`);
}
for (const { text, element, whole } of textBoxes()) {
  const drawing = element.closest("svg");
  if (drawing !== null) {
    const edge = drawing.getBoundingClientRect();
    const out = Math.max(edge.left - whole.left, whole.right - edge.right, edge.top - whole.top, whole.bottom - edge.bottom);
    if (out > 1) found.push(`"${text}": ${out.toFixed(0)} pixels outside of its chart`);
    if (text.endsWith("\\u2026") && element.querySelector("title") === null) found.push(`"${text}": shortened`);
    continue;
  }
  if (element.closest("[title]") !== null) continue;
  for (let e = element; e !== null && e !== document.body; e = e.parentElement) {
    const style = getComputedStyle(e);
    if (style.overflowX === "auto" || style.overflowX === "scroll") break;
    const edge = e.getBoundingClientRect();
    if (style.overflowX !== "visible" && whole.right > edge.right + 1) {
      found.push(`"${text}": cut off`);
      break;
    }
  }
}
return [...new Set(found)];
"""

# Letters below the smallest size, as they appear after a drawing was scaled.
SMALL_TEXT = TEXTS + """
const found = {};
for (const { text, element } of textBoxes()) {
  const drawing = element.closest("svg");
  const scale = drawing === null ? 1 : drawing.getBoundingClientRect().width / drawing.viewBox.baseVal.width;
  const size = parseFloat(getComputedStyle(element).fontSize) * scale;
  if (size < arguments[0] - 0.05) found[`${element.tagName}.${element.getAttribute("class") ?? ""}`] ??= `"${text}": ${size.toFixed(1)} pixels`;
}
return Object.entries(found).map(([kind, example]) => `${kind} ${example}`);
"""

# The title of the page, and its first answer: a headline, cards, a chart or the first row of a table.
BELOW_FOLD = """
const found = [];
const check = (what, element) => {
  if (element === null) return found.push(`the page has no ${what}`);
  const bottom = element.getBoundingClientRect().bottom + window.scrollY;
  if (bottom > window.innerHeight) found.push(`the ${what} ends at ${bottom.toFixed(0)} of ${window.innerHeight} pixels`);
};
check("title", document.querySelector("main h1, main h2"));
check("first answer", document.querySelector("main .headline, main .cards, main figure, main tbody tr, main p, main li"));
return found;
"""


def faults(page, contrast):
    """Everything that is wrong with the layout of an opened page, a line each."""
    out = [f"cut off: {line}" for line in page.run(CUT_OFF)]
    out += [f"overlap: {line}" for line in page.run(OVERLAPS)]
    out += [f"small: {line}" for line in page.run(SMALL_TEXT, SMALLEST_TEXT_PX)]
    out += [f"fold: {line}" for line in page.run(BELOW_FOLD)]
    out += [f"contrast: {line}" for line in page.run(contrast)]
    return out
