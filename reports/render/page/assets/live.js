// For a page that a server shows: links to its other pages, updates of its data, and the actions on an alert.

// By the key of a column: the address to which its texts link.
const LINKS = {
  run_id: (text) => "/run/" + text,
  sweep_id: (text) => "/report?sweep=" + encodeURIComponent(text),
  alert_id: (text) => "/alerts/" + encodeURIComponent(text),
  trace: (text) => "/trace/" + text,
};

const RUNS = { column: "run_id", address: (left, right) => "/diff?" + new URLSearchParams({ left, right }) };
const TRACES = { column: "trace", address: (left, right) => `/trace/${right}?` + new URLSearchParams({ against: left }) };

// By the key of a table: the column that identifies its rows, and the page that shows two of them side by side. The
// page of two runs links to their traces.
const SIDES = { runs: location.pathname === "/diff" ? TRACES : RUNS, table: RUNS, attempts: TRACES };

const PERIOD_MS = 2000;

// The server's token comes after the "#" of the address that it printed. It is kept for this tab only.
function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (found !== null) {
    sessionStorage.setItem("perfbench-token", found);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return sessionStorage.getItem("perfbench-token");
}

// Puts the possible actions before the content. Returns a function that updates the allowed next states. Text that the
// user has typed stays.
function makeActions(token) {
  const reason = make("input", { type: "text", required: true, "aria-label": "Reason", placeholder: "why" });
  const said = make("span", { role: "status" });
  const buttons = make("span");
  const nameOf = (state) => state.replaceAll("_", " ");
  const act = async (to) => {
    if (!reason.reportValidity()) return;
    const answer = await fetch(location.pathname, {
      method: "POST",
      headers: { "X-Perfbench-Token": token },
      body: JSON.stringify({ to, reason: reason.value }),
    });
    said.textContent = answer.ok ? "It is " + nameOf(to) + " now." : await answer.text();
  };
  const button = (to) => {
    const out = make("button", { type: "button" }, "Mark as " + nameOf(to));
    out.addEventListener("click", () => act(to));
    return out;
  };
  document.getElementById("content").before(
    make("div", { class: "tools", id: "actions", role: "region", "aria-label": "Actions" }, make("label", {}, "Reason ", reason), buttons, said));
  return (states) => buttons.replaceChildren(...states.map(button));
}

let offer = null;

function showActions(states) {
  if (offer === null && states.length > 0) {
    const token = takeToken();
    if (token !== null) offer = makeActions(token);
  }
  if (offer !== null) offer(states);
}

function startLive(first, views) {
  takeToken();
  let known = JSON.stringify(first);
  let toCome = first.to_come === true;
  let lasting = first.lasting === true;
  let tag = null;
  const address = dataAddress();
  const ask = async () => {
    let pause = PERIOD_MS;
    try {
      const answer = await fetch(address, { headers: tag === null ? {} : { "If-None-Match": tag } });
      if (answer.status !== 304) {
        tag = answer.headers.get("ETag");
        // Why the page could not be made; not shown in place of an existing page.
        const failed = toCome && answer.status === 500;
        const data = failed
          ? { ...first, to_come: false, blocks: [{ kind: "paragraph", text: await answer.text(), tone: "bad" }] }
          : await answer.json();
        const text = JSON.stringify(data);
        if (text !== known) views = show(data, views);
        known = text;
        toCome = data.to_come === true;
        lasting = data.lasting === true;
        if (toCome) pause = 0;  // the server already waited
      }
      document.documentElement.dataset.live = "yes";
    } catch {
      document.documentElement.dataset.live = "no";  // the server is gone; it may come back
    }
    if (!lasting) setTimeout(ask, pause);
  };
  if (!lasting) setTimeout(ask, toCome ? 0 : PERIOD_MS);
}
