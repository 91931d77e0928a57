// The choices that a server's page offers, as parameters of the address: a link that is passed on shows the same.

let shownControls = "[]";

function showControls(controls) {
  const place = document.getElementById("controls");
  const text = JSON.stringify(controls);
  if (shownControls === text) return;  // somebody may be typing
  shownControls = text;
  place.hidden = controls.length === 0;
  const inputs = controls.map(({ parameter, chosen, choices }) => {
    if (choices.length === 0) return make("input", { type: "search", name: parameter, value: chosen.value });
    const isListed = chosen.value === "" || choices.some(({ value }) => value === chosen.value);
    const all = [{ value: "", text: "default" }, ...(isListed ? [] : [chosen]), ...choices];
    return make("select", { name: parameter }, ...all.map(({ value, text }) =>
      make("option", { value, selected: value === chosen.value }, text)));
  });
  const go = () => {
    const address = new URL(location.href);
    for (const { name, value } of inputs) {
      if (value === "") address.searchParams.delete(name);
      else address.searchParams.set(name, value);
    }
    if (address.href !== location.href) location.assign(address);
  };
  for (const input of inputs) input.addEventListener("change", go);
  place.replaceChildren(...controls.map(({ title }, i) => make("label", {}, title + " ", inputs[i])));
}

// The sorting, the filter and the columns of a table, under its key. They stay in the address without another request.
const VIEW = "view.";

function savedView(key) {
  try {
    const view = JSON.parse(new URLSearchParams(location.search).get(VIEW + key));
    return typeof view === "object" && view !== null ? view : {};
  } catch {
    return {};  // a link that was damaged shows the page as it is
  }
}
function saveView(key, view) {
  const address = new URL(location.href);
  if (Object.keys(view).length === 0) address.searchParams.delete(VIEW + key);
  else address.searchParams.set(VIEW + key, JSON.stringify(view));
  if (address.href !== location.href) history.replaceState(null, "", address);
}
// The address of the data: what is seen of a table does not change them.
function dataAddress() {
  const address = new URL(location.href);
  address.hash = "";
  for (const name of [...address.searchParams.keys()]) if (name.startsWith(VIEW)) address.searchParams.delete(name);
  address.searchParams.set("data", "");
  return address;
}
