#!/usr/bin/env python3
"""How long the views of `perfbench serve` take over a database of very many runs.

usage: bench_serve.py --perfbench build/cpu/bin/perfbench [--runs N] [--keep FILE]

The database is made of one real run, copied with SQL: nights of 500 cells each, the newest last, each with a commit of its
own; ten runs timed out. Every view is asked for five times: first, then from what the server has kept since nobody wrote.
Those that every page leads to it makes from the start on, and they are asked for last. All are waited for, which a browser
does not (--patience of the server). Of lists, most are of what few runs or none have, which is where a reader of all runs
would take longest.
"""
import argparse
import hashlib
import http.client
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CELLS = 500
METRICS = ("step_time_s", "tokens_per_s", "peak_memory_bytes", "resident_bytes", "startup_time_s", "final_loss")

COPIES = """
CREATE TEMP TABLE numbers AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :most) SELECT i FROM n;
CREATE TEMP TABLE first AS SELECT * FROM attempts ORDER BY attempt_key LIMIT 1;
CREATE TEMP TABLE named AS SELECT value, name_key, name FROM metrics JOIN names USING (name_key)
  WHERE attempt_key = (SELECT attempt_key FROM first) AND name IN (:names);
INSERT INTO run_fields SELECT 1000 + i, name_key, value FROM run_fields, numbers
  WHERE run_key = (SELECT run_key FROM first) AND i <= :cells;
INSERT INTO cells SELECT 1000 + i, matrix, 'number=' || i, 1000 + i FROM cells, numbers
  WHERE cell_key = (SELECT cell_key FROM first) AND i <= :cells;
INSERT INTO sweeps SELECT 1000 + i, 'night-' || i, matrix,
  strftime('%Y-%m-%dT%H:%M:%SZ', '2026-11-24', '-' || (:nights - i) || ' days'), 'night'
  FROM sweeps, numbers WHERE sweep_key = (SELECT sweep_key FROM first) AND i <= :nights;
INSERT INTO environments SELECT 1000 + i, fingerprint || i FROM environments, numbers
  WHERE environment_key = (SELECT environment_key FROM first) AND i <= :nights;
INSERT INTO environment_facts SELECT 1000 + i, name_key,
  CASE WHEN name_key = (SELECT name_key FROM names WHERE name = 'git_commit') THEN printf('%08x', i * 2654435761 & 4294967295) ELSE value END
  FROM environment_facts, numbers WHERE environment_key = (SELECT environment_key FROM first) AND i <= :nights;
INSERT INTO attempts SELECT 1000 + (night.i - 1) * :cells + cell.i, 1000 + cell.i, 1000 + night.i, 1000 + cell.i,
  1000 + night.i, 1, CASE WHEN night.i % :every = 1 AND cell.i = 17 THEN 'timed_out' ELSE state END, reason, exit_code, signal,
  strftime('%Y-%m-%dT%H:%M:%SZ', '2026-11-24', '-' || (:nights - night.i) || ' days', '+' || cell.i || ' seconds'),
  wall_ns, perfbench_version, record_sha256, lost_step_lines, load_1m, memory_available_bytes, peak_flops_per_s
  FROM first, numbers night, numbers cell WHERE night.i <= :nights AND cell.i <= :cells;
INSERT INTO metrics SELECT attempt_key, name_key, value * (1 + 0.01 * (abs(random()) % 1000) / 1000.0)
  FROM attempts, named WHERE attempt_key > 1000;
"""


def make_database(perfbench, db, runs):
    subprocess.run([perfbench, "sweep", ROOT / "matrices/quickstart.yaml", "--db", db, "--only", "model=gpt-mini", "--only",
                    "attention=flash", "--only", "remat=none"], check=True, stdout=subprocess.DEVNULL)
    nights = max(1, runs // CELLS)
    values = {"cells": CELLS, "nights": nights, "most": max(CELLS, nights), "every": max(2, nights // 10),
              "names": ", ".join(f"'{name}'" for name in METRICS)}
    script = re.sub(r":([a-z]+)\b", lambda found: str(values[found.group(1)]) if found.group(1) in values else found.group(0),
                    COPIES)
    connection = sqlite3.connect(db)
    # A run's id is the SHA-256 of its configuration, which readers check. So each run has its own seed.
    first = list(connection.execute("SELECT * FROM runs ORDER BY run_key LIMIT 1").fetchone())
    for cell in range(1, CELLS + 1):
        text = re.sub(r'"seed":\d+', f'"seed":{cell}', first[-1])
        row = [1000 + cell, hashlib.sha256(text.encode()).hexdigest(), *first[2:-1], text]
        connection.execute(f"INSERT INTO runs VALUES ({','.join('?' * len(row))})", row)
    connection.commit()
    connection.executescript("PRAGMA synchronous = OFF; BEGIN;" + script + "COMMIT; ANALYZE;")
    connection.close()


def timed(port, path):
    times = []
    for _ in range(5):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        begin = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        size = len(answer.read())
        times.append(time.perf_counter() - begin)
        if answer.status != 200:
            sys.exit(f"{path}: {answer.status}")
    return times[0], statistics.median(times[1:]), size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perfbench", required=True)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="file of the database, taken as it is where it exists")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        db = arguments.keep or Path(folder) / "many.db"
        if not db.exists():
            make_database(arguments.perfbench, db, arguments.runs)
        connection = sqlite3.connect(db)
        name = connection.execute("SELECT run_id FROM runs WHERE run_key = 1001").fetchone()[0]
        count = connection.execute("SELECT count(*) FROM attempts").fetchone()[0]
        oldest = connection.execute("SELECT value FROM environment_facts JOIN names USING (name_key) WHERE name = 'git_commit' "
                                    "AND environment_key = 1001").fetchone()[0]
        connection.close()
        print(f"{count} runs, {db.stat().st_size / 1e6:.0f} MB\n\n| view | first (ms) | again (ms) | bytes |\n| --- | ---: | ---: | ---: |")
        server = subprocess.Popen([arguments.perfbench, "serve", "--db", db, "--port", "0", "--patience", "60000"],
                                  stdout=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r":(\d+)/", server.stdout.readline()).group(1))
            lists = ["cell=number=7", "cell=number=x", f"git_commit={oldest}", "git_commit=zzz*", "machine=zzz*", "state=timed_out",
                     "state=crashed", "tags=zzz", "sweep_id=night-1", "kind=hand", "started_utc=2021-*", "started_utc=2020-*",
                     "attempts=7", "step_time_s=zzz*"]
            for path in (f"/report?sweep=night-{max(1, count // CELLS)}", f"/run/{name[:12]}", "/history?series=*%2Fnumber%3D7",
                         "/history?metric=final_loss",
                         *(f"/runs?where={urllib.parse.quote(where)}" for where in lists), "/", "/runs", "/alerts", "/history"):
                first, again, size = timed(port, path)
                print(f"| `{path}` | {first * 1e3:.1f} | {again * 1e3:.1f} | {size} |", flush=True)
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
