"""The program under test: its commands, its server, and a database that several tests begin with."""
import datetime
import functools
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120  # on a machine that is also busy with something else

# Text that tries to be markup, script, colours, another direction, a formula.
HOSTILE = ("zq</script><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
           "\"'`${zq}&lt;\u202egnp.exe\x1b[31m=cmd()|zq javascript:document.title='taken'")

QUICKSTART = ROOT / "matrices/quickstart.yaml"
# The quickest cell of the quickstart.
ONE_CELL = ("--only", "model=gpt-mini", "--only", "remat=none", "--only", "attention=flash")

# Set by __main__.py.
PATH = ""
SCREENSHOTS = Path()


def perfbench(*arguments, exits=(0,), **options):
    """What it prints; options of subprocess.run()."""
    done = subprocess.run([PATH, *map(str, arguments)], capture_output=True, text=True, **options)
    if done.returncode not in exits:
        raise AssertionError(f"perfbench {arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


@functools.cache
def _demonstration():
    folder = tempfile.TemporaryDirectory()
    perfbench("nightly", QUICKSTART, *ONE_CELL, "--db", Path(folder.name) / "nights.db", "--history-from", "simulated",
              "--html", Path(folder.name) / "night.html", "--github", exits=(1,),
              env={**os.environ, "GITHUB_STEP_SUMMARY": str(Path(folder.name) / "summary.md")})
    return folder


def demonstration(folder):
    """A database of made-up nights with a confirmed alert; beside it night.html and summary.md, which GitHub shows.

    They are made once, and copied to `folder`, which the test may change.
    """
    shutil.copytree(_demonstration().name, folder)
    return Path(folder) / "nights.db"


def imported_nights(folder, series, nights):
    """A database of made-up benchmark results: the last night changes with the position of its series.

    The first series is a fifth slower since four nights, the second faster, the third four times slower since two. The
    fourth has a single night far out, the fifth only the last night, and the sixth only the last five.
    """
    folder = Path(folder)
    folder.mkdir(parents=True)
    changes = {0: (4, 1.2), 1: (6, 0.93), 2: (2, 4.0)}  # by position: since how many nights, and the factor
    files = []
    for night in range(nights):
        rows = []
        for position in range(series):
            if nights - night > {4: 1, 5: 5}.get(position, nights):
                continue
            since, factor = changes.get(position, (0, 1))
            ms = (3 + position) * (1 + 0.003 * ((night * 7 + position) % 5 - 2))
            ms *= factor if nights - night <= since else 1
            ms *= 1.9 if (position, night) == (3, nights // 2) else 1
            name = f"BM_{('Sort', 'Attention', 'Softmax')[position % 3]}/{2 ** (4 + position % 9)}/{position}"
            rows += [{"name": name, "run_name": name, "run_type": "iteration", "repetitions": 3, "repetition_index": i,
                      "threads": 1, "iterations": 100, "real_time": ms * (1 + 0.0004 * i), "cpu_time": ms,
                      "time_unit": "ms"} for i in range(3)]
        date = datetime.date(2026, 1, 10) + datetime.timedelta(days=night)
        context = {"date": f"{date}T02:00:00+00:00", "host_name": "node1", "executable": "./bench", "num_cpus": 8,
                   "library_build_type": "release", "json_schema_version": 1}
        files.append(folder / f"night{night}.json")
        files[-1].write_text(json.dumps({"context": context, "benchmarks": rows}))
    db = folder / "benchmarks.db"
    perfbench("import", "--format", "google-benchmark", "--db", db, *files)
    return db


class Server:
    """perfbench serve at a port that is free; on a slow machine, too, it answers with what was asked for."""

    def __init__(self, db, *options, patience_s=PATIENCE_S):
        self.process = subprocess.Popen([PATH, "serve", "--db", str(db), "--port", "0", "--patience",
                                         str(1000 * patience_s), *options],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"serving (http://127\.0\.0\.1:(\d+)/)(?:#token=([0-9a-f]{32}))?\n", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"said: {line!r}")
        self.url, self.port, self.token = found.group(1), int(found.group(2)), found.group(3)

    def ask(self, method, path, headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer

    def end(self):
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


def long_page(source, target, change=lambda column: None):
    """Writes the page of a table with 10,000 rows: those of `source`, again and again. `change` may change a column."""
    text = Path(source).read_text()
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', text, re.S)
    document = json.loads(found.group(1))
    table = next(block for block in document["blocks"] if block["kind"] == "table")
    few, table["rows"], table["row_notes"] = table["rows"], 10_000, {}
    for column in table["columns"]:
        column["of"] = [column["of"][row % few] for row in range(10_000)]
        change(column)
    target.write_text(text[:found.start(1)] + json.dumps(document).replace("<", "\\u003c") + text[found.end(1):])
