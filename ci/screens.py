#!/usr/bin/python3
"""Takes pictures of every page in every width and theme, and lists what is cut off, overlaps, is too small or too pale.

usage: ci/screens.py OUT [--perfbench FILE] [--widths 1280x800,390x844] [--themes light,dark] [--only PAGE ...]
                     [--store FOLDER] [--readme]
       OUT      a folder: a picture for each page, width and theme, and faults.txt
       --store  keeps the databases in this folder, and uses those that are there
       --readme writes the pictures that README.md shows, in place of checking
Exits 1 if faults.txt has a line. axe-core checks accessibility, if its package is installed or can be installed.
"""
import argparse
import contextlib
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/browser"))
import browser  # noqa: E402
import layout  # noqa: E402
import program  # noqa: E402
from program import HOSTILE, ONE_CELL, QUICKSTART, perfbench  # noqa: E402

SCREENS = "1280x800,1920x1080,768x1024,390x844"
AXE = "axe-core-python==0.1.0"


def axe_script(folder):
    """The script of axe-core, from its package; empty if the package is out of reach."""
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder, AXE],
                          capture_output=True, text=True)
    found = list(Path(folder).rglob("axe.min.js"))
    if done.returncode != 0 or not found:
        print("skipped: axe-core, because its package cannot be installed", file=sys.stderr)
        return ""
    return found[0].read_text()


def axe_faults(page, script):
    if not script:
        return []
    page.run(script + "; window.axe = axe;")
    violations = page.driver.execute_async_script(
        "const done = arguments[0]; window.axe.run(document).then((r) => done(r.violations), (e) => done(String(e)));")
    if isinstance(violations, str):
        return [f"axe: {violations}"]
    return [f"axe: {one['id']}: {one['nodes'][0]['html'][:120]}" for one in violations]


def on_a_device(attempt, folder):
    """The attempt with a trace as if its operations had run on a GPU: each is a call of 3 us, and later a kernel."""
    shutil.copytree(attempt, folder, dirs_exist_ok=True)
    file = folder / "trace.rank0.jsonl"
    *events, end = map(json.loads, (attempt / file.name).read_text().splitlines())
    out, free_ns = [], 0
    for number, event in enumerate(sorted(events, key=lambda one: (one["start_ns"], -one["end_ns"])), 1):
        out.append(event)
        if event["kind"] != "op":
            continue
        duration_ns, begin_ns = event["end_ns"] - event["start_ns"], event["start_ns"]
        call = {**event, "kind": "host_call", "name": "cudaLaunchKernel", "end_ns": begin_ns + min(3000, duration_ns),
                "correlation": number}
        free_ns = max(free_ns, call["end_ns"]) + duration_ns // 2
        out += [call, {**call, "kind": "kernel", "name": "", "kernel_name": f"void {event['name']}_kernel<float>()",
                       "start_ns": free_ns - duration_ns // 2, "end_ns": free_ns, "device": 0, "lane": 7}]
    file.write_text("".join(json.dumps(event) + "\n" for event in [*out, {**end, "events": len(out)}]))
    return folder


class Store:
    """Databases of real runs, and the pages that commands make of them."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.db, self.traced, self.pairs = (self.folder / f"{name}.db" for name in ("runs", "traced", "pairs"))
        self.nights = self.folder / "nights/nights.db"
        self.benchmarks = self.folder / "benchmarks/benchmarks.db"
        if not (self.folder / "made").exists():
            self.measure()
            (self.folder / "made").touch()
        if not self.benchmarks.exists():
            program.imported_nights(self.benchmarks.parent, series=40, nights=60)

    def measure(self):
        program.demonstration(self.folder / "nights")
        perfbench("sweep", QUICKSTART, "--db", self.db)
        perfbench("baseline", "set", "first", "--reason", "the first sweep", "--author", "me", "--db", self.db)
        perfbench("note", "latest", HOSTILE, "--author", HOSTILE, "--db", self.db)
        perfbench("sweep", QUICKSTART, "--db", self.db)
        perfbench("sweep", QUICKSTART, "--db", self.traced, "--only", "model=gpt-mini", "--only", "remat=full", "--set",
                  "trace_steps=2")
        perfbench("compare", "--ab", "current", "inject:slow:span=matmul,fraction=0.1", QUICKSTART, *ONE_CELL, "--pairs",
                  "8", "--db", self.pairs, exits=(0, 1, 2))

    def file(self, name):
        return self.folder / f"{name}.html"

    def files(self):
        """{name: file}"""
        perfbench("plan", QUICKSTART, "--html", self.file("plan"))
        cell = next(csv.DictReader(io.StringIO(perfbench("plan", QUICKSTART, "--format", "csv"))))["cell"]
        perfbench("plan", QUICKSTART, "--explain", cell, "--html", self.file("explanation"))
        perfbench("report", "--db", self.db, "--format", "html", "-o", self.file("report"))
        perfbench("compare", "--baseline", "first", "--metric", "gate", "--db", self.db, "--html", self.file("baseline"),
                  exits=(0, 1, 2))
        perfbench("list", "--db", self.db, "--format", "html", "-o", self.file("list"))
        perfbench("show", "latest", "--db", self.db, "--format", "html", "-o", self.file("run"))
        perfbench("history", "--db", self.nights, "--html", self.file("history"), exits=(0, 2))
        perfbench("history", "--db", self.benchmarks, "--html", self.file("benchmarks"), exits=(2,))
        by_ranks = {}  # {number of ranks: folders of attempts}
        for trace in sorted(self.traced.with_suffix(".runs").glob("*/*/trace.rank0.jsonl")):
            by_ranks.setdefault(len(list(trace.parent.glob("trace.*"))), []).append(trace.parent)
        first, second = by_ranks[1][:2]
        perfbench("trace", first, "--html", self.file("trace"))
        perfbench("trace", first, "--against", second, "--html", self.file("difference"))
        perfbench("trace", by_ranks[2][0], "--html", self.file("trace-ranks"))
        perfbench("trace", on_a_device(first, self.folder / "device"), "--html", self.file("trace-device"))
        program.long_page(self.file("report"), self.file("long"))
        out = {name: self.file(name) for name in ("plan", "explanation", "report", "baseline", "list", "run",
                                                  "history", "benchmarks", "trace", "trace-ranks", "trace-device",
                                                  "difference", "long")}
        return {**out, "night": self.nights.parent / "night.html"}

    def addresses(self):
        """{name: (database, address)} of pages that only a server has."""
        alert = re.search(r'"alert_id":\s*"([0-9a-f]+)"', perfbench("alerts", "list", "--db", self.nights, "--format",
                                                                     "json", exits=(0, 1))).group(1)
        sweeps = csv.DictReader(io.StringIO(perfbench("list", "sweeps", "--db", self.pairs, "--format", "csv")))
        comparison = next(sweeps)["sweep_id"]
        return {"serve-overview": (self.db, ""), "serve-runs": (self.db, "runs"), "serve-report": (self.db, "report"),
                "serve-not-found": (self.db, "run/0123456789ab"), "serve-nights": (self.nights, ""),
                "serve-history": (self.nights, "history"), "serve-benchmarks": (self.benchmarks, "history"),
                "serve-alerts": (self.nights, "alerts"),
                "serve-alert": (self.nights, "alerts/" + alert), "serve-comparison": (self.pairs, "report?sweep=" + comparison)}


# The pictures of README.md: {name: (page, the element at its top, height)}
README = {"report": ("report", "main", 820), "comparison": ("serve-comparison", "main", 820),
          "run": ("run", "main", 820), "timeline": ("trace-ranks", ".timeline", 420)}


def readme_pictures(pages):
    driver = browser.start(1280, 800, "light")
    for name, (page, element, height) in README.items():
        opened = browser.Opened(driver, pages[page])
        top = opened.run("return document.querySelector(arguments[0]).getBoundingClientRect().top", element)
        browser.picture(driver, ROOT / f"reports/pictures/{name}.png", (0, top, 1280, height))
    driver.quit()


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("-h", "--help", action="version", version=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--perfbench", default=str(ROOT / "build/cpu/bin/perfbench"))
    parser.add_argument("--widths", default=SCREENS)
    parser.add_argument("--themes", default="light,dark")
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--store", type=Path)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    program.PATH = str(Path(options.perfbench).resolve())
    options.out.mkdir(parents=True, exist_ok=True)
    faults = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as ends:
        axe = axe_script(folder + "/axe")
        if options.store is not None:
            options.store.mkdir(parents=True, exist_ok=True)
        store = Store(options.store or folder)
        servers = {}
        for db in (store.db, store.nights, store.benchmarks, store.pairs):
            servers[db] = program.Server(db)
            ends.callback(servers[db].end)
        pages = {name: file.resolve().as_uri() for name, file in store.files().items()}
        pages.update({name: servers[db].url + path for name, (db, path) in store.addresses().items()})
        unknown = set(options.only) - set(pages)
        if unknown:
            parser.error(f"unknown pages: {', '.join(sorted(unknown))}; there are: {', '.join(pages)}")
        pages = {name: address for name, address in pages.items() if not options.only or name in options.only}
        if options.readme:
            readme_pictures(pages)
            return 0
        for screen in options.widths.split(","):
            for theme in options.themes.split(","):
                width, height = map(int, screen.split("x"))
                driver = browser.start(width, height, theme)
                with contextlib.ExitStack() as end:
                    end.callback(driver.quit)
                    for name, address in pages.items():
                        page = browser.Opened(driver, address)
                        found = layout.faults(page, browser.CONTRAST) + page.run(browser.NAMELESS)
                        browser.picture(driver, options.out / f"{name}-{width}-{theme}.png")
                        faults += [f"{name} {width} {theme}: {line}" for line in found + axe_faults(page, axe)]
    (options.out / "faults.txt").write_text("".join(line + "\n" for line in faults))
    print("\n".join(faults[:100]))
    print(f"{len(pages)} pages, {len(faults)} faults: {options.out}/faults.txt")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
