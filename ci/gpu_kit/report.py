#!/usr/bin/env python3
"""What a kit brought home: takes it into a database, and prints what failed, MFU, operations and peers.

usage: ci/gpu_kit.sh report FOLDER|ARCHIVE... [--db DB] [--perfbench BIN] [--state FILE] [--figures FILE]
"""

import argparse
import csv
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "ci" / "bench"))

import gpu_overhead  # noqa: E402
import gpu_peers  # noqa: E402
import kernel_table  # noqa: E402
import recorded_cells  # noqa: E402
import session_table  # noqa: E402
from cells import step_times_ns  # noqa: E402

TESTS = ("engine_cuda_ops_tests", "engine_cuda_training_tests")
TORCH = "torch."
WRONG_INPUT = 3
NCU_METRICS = ("Duration", "Memory Throughput", "DRAM Throughput", "Compute (SM) Throughput", "Achieved Occupancy")


@dataclasses.dataclass
class Step:
    """A line of steps.tsv."""

    part: pathlib.Path
    name: str
    code: object  # a number, or why there is none: skipped, not_begun
    seconds: int
    started: str
    words: str  # its command, or why there is no code

    @property
    def number(self):
        return self.part.name.removeprefix("part").removeprefix("session")

    @property
    def log(self):
        return self.part / f"{self.name}.log"

    @property
    def failed(self):
        inexpressible = self.name.startswith(TORCH) and self.code == gpu_peers.INEXPRESSIBLE
        return self.code not in (0, "skipped") and not inexpressible

    @property
    def outcome(self):
        if isinstance(self.code, str):
            return self.words
        return {0: "ok", recorded_cells.TIME_UP: "its time was up"}.get(self.code, f"code {self.code}")


def read_steps(part):
    steps = []
    for line in (part / "steps.tsv").read_text().splitlines():
        name, code, seconds, started, words = line.split("\t")
        steps.append(Step(part, name, int(code) if code.isdigit() else code, int(seconds), started, words))
    return steps


def table(header, lines):
    print("| " + " | ".join(header) + " |\n|" + " --- |" * len(header))
    for line in lines:
        print("| " + " | ".join(str(word).replace("|", "\\|") for word in line) + " |")
    print()


def shown(value):
    return f"{value:.3f}" if isinstance(value, float) else value


def last_line(file):
    text = file.read_text(errors="replace").strip() if file.exists() else ""
    return text.splitlines()[-1][:160] if text else "no output"


def print_steps(steps):
    print("## What ran\n")
    table(["Part", "Step", "Outcome", "Seconds"], [[s.number, s.name, s.outcome, s.seconds] for s in steps])


def outcomes(text):
    """By test, of GoogleTest's log: passed, failed, skipped or, where the process ended within it, not ended."""
    found = {}
    words = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    for kind, name in re.findall(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,]+)", text, re.MULTILINE):
        found[name] = words.get(kind, found.get(name, "not ended"))
    return found


def first_failure(text, name):
    after = text.partition(f"[ RUN      ] {name}\n")[2]
    return " ".join(after.partition("\n[")[0].split())[:300]


def print_tests(steps):
    """Whether all is well."""
    print("## Tests\n")
    fine = True
    alone = {}
    for step in steps:
        if step.name.startswith("again.") and step.log.exists():
            alone |= outcomes(step.log.read_text(errors="replace"))
    for step in steps:
        if step.name not in TESTS or not step.log.exists():
            continue
        text = step.log.read_text(errors="replace")
        found = outcomes(text)
        wanted = re.search(r"^\[=+\] Running (\d+) tests?", text, re.MULTILINE)
        unreached = int(wanted[1]) - len(found) if wanted else 0
        count = {what: list(found.values()).count(what) for what in ("passed", "failed", "skipped", "not ended")}
        print(f"{step.name}: " + ", ".join(f"{n} {what}" for what, n in count.items()) + f", {unreached} not reached")
        for name, what in found.items():
            if what in ("failed", "not ended"):
                print(f"- {name} {what}; by itself: {alone.get(name, 'not tried')}. {first_failure(text, name)}")
        without_device = text.count("skipped: no CUDA device")
        if without_device:
            print(f"- {without_device} tests saw no CUDA device and have shown nothing")
        fine = fine and step.code == 0 and not without_device and set(found.values()) <= {"passed", "skipped"}
    for name in sorted(name for name, what in alone.items() if what != "passed"):
        print(f"- fails by itself too: {name}")
    print()
    return fine


def take_in(options, steps, scratch):
    """The run directories of all cells that began, by their folder; into the database, too."""
    runs = options.db.with_suffix(".runs")
    made = {}
    for step in steps:
        cell = step.part / "cells" / step.name
        if isinstance(step.code, int) and (cell / "planned.json").exists():
            made[cell] = recorded_cells.take_in(options.perfbench, cell, step, runs,
                                                scratch / step.part.name / step.name)
    if made:
        sweeps = dict.fromkeys(run.parents[1] for run in made.values())
        subprocess.run([options.perfbench, "ingest", *sweeps, "--db", options.db], stdout=sys.stderr)
    return made


def print_speeds(options, made):
    """Whether every cell is ok."""
    attempts = [json.loads((run / "attempt.json").read_text()) for run in made.values()]
    for sweep in dict.fromkeys(attempt["sweep_id"] for attempt in attempts):
        done = subprocess.run([options.perfbench, "report", "--db", options.db, "--sweep", sweep],
                              stdout=subprocess.PIPE, text=True)
        print(done.stdout)
    return all(attempt["state"] == "ok" for attempt in attempts)


def print_operations(options, made):
    print("## Operations of a traced step beside their estimates\n")
    for cell, run in made.items():
        if not (run / "trace.rank0.jsonl").exists():
            continue
        wanted = json.loads((cell / "run.json").read_text())
        gpu = json.loads((run / "env.json").read_text()).get("gpu_model", "")
        hardware = kernel_table.hardware_file(gpu, wanted["hardware"])
        peak, bandwidth = kernel_table.limits(hardware, wanted["precision"])
        estimated = kernel_table.estimates(cell)
        print(f"{cell.parent.parent.name} {cell.name}, limits of {hardware.stem}: {peak / 1e12:g} TFLOP/s in "
              f"{wanted['precision']}, {bandwidth / 1e12:g} TB/s")
        if estimated is None:
            print("without estimates: the engine of this kit had no dry --operations")
        print()
        try:
            seconds = kernel_table.measured_seconds(options.perfbench, run)
        except subprocess.CalledProcessError as error:
            print(f"no table: {error.stderr.strip()}\n")
            continue
        columns = {"Operation": "operation", "Measured (ms)": "measured_ms"}
        if estimated is not None:
            columns |= {"Calls": "calls", "Estimate (ms)": "limit_ms", "Measured / estimate": "over_limit",
                        "Limited by": "by"}
        table(columns, [[shown(row.get(key, "-")) for key in columns.values()]
                        for row in kernel_table.rows(seconds, estimated, peak, bandwidth)])


def peer_rows(steps):
    for step in steps:
        who = "torch" if step.name.startswith(TORCH) else "engine"
        case, _, number = step.name.removeprefix(TORCH).rpartition(".")
        row = {"case": case, "round": number, "who": who}
        if step.part.name != "part4" or not number.isdigit() or not isinstance(step.code, int):
            continue
        if step.code != 0:
            yield {**row, "failed": last_line(step.log)}
            continue
        times = (step_times_ns(step.part / "cells" / step.name) if who == "engine"
                 else json.loads(last_json(step.log))["steps_ns"])
        yield {**row, "median_ns": statistics.median(times[gpu_peers.UNTIMED_STEPS:])}


def last_json(file):
    return next(line for line in reversed(file.read_text().splitlines()) if line.startswith("{"))


def print_peers(steps):
    print("## Beside PyTorch\n")
    absent = next((step.words for step in steps if step.name == "torch" and step.code == "skipped"), None)
    if absent:
        print(f"{absent}\n")
    lines = []
    for case, entry in gpu_peers.summarise(list(peer_rows(steps)), {})["cases"].items():
        engine, torch = entry.get("engine", {}), entry.get("torch", {})
        ratio = torch.get("over_engine")
        lines.append([case, *(f"{who['median_ms']:.2f}" if "median_ms" in who else who.get("without", "-")
                              for who in (engine, torch)),
                      f"{ratio['median']:.3f} ({ratio['low']:.3f} to {ratio['high']:.3f}, {ratio['pairs']} rounds)"
                      if ratio else "-"])
    table(["Cell", "Engine (ms)", "PyTorch (ms)", "PyTorch / engine (lowest to highest)"], lines)


def print_ncu(log):
    print("## Kernels by Nsight Compute\n")
    text = log.read_text(errors="replace")
    begin = text.find('"ID"')
    kernels = {}
    for row in csv.DictReader(text[begin:].splitlines()) if begin >= 0 else []:
        if row.get("Metric Name") in NCU_METRICS:
            kernels.setdefault((row["ID"], row["Kernel Name"]), {})[row["Metric Name"]] = \
                f"{row['Metric Value']} {row['Metric Unit']}"
    table(["Kernel", *NCU_METRICS], [[name, *(found.get(metric, "-") for metric in NCU_METRICS)]
                                     for (_, name), found in kernels.items()])


def print_overhead(log):
    print("## What watching a step costs\n")
    rows = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    table(["Watcher", "Watched / unwatched", "95 %", "Limit"],
          [[by, f"{ratio['median']:.4f}", f"{ratio['low']:.4f} to {ratio['high']:.4f}", ratio.get("verdict", "-")]
           for by, ratio in gpu_overhead.summarise(rows).items()])


def print_failed(steps):
    print("## What failed\n")
    for step in steps:
        if step.failed:
            why = step.words if isinstance(step.code, str) else last_line(step.log)
            print(f"- part {step.number} {step.name}: {step.code}: {why}")
    if not any(step.failed for step in steps):
        print("no step")
    print()


def unpacked(sources, scratch):
    """The folder of results; archives are unpacked into one."""
    if len(sources) == 1 and sources[0].is_dir():
        return sources[0]
    for source in sources:
        # One after the other, and the last may be cut off: what is whole comes out.
        if subprocess.run(["tar", "-C", scratch, "-xzif", source]).returncode != 0:
            print(f"{source} was cut off\n")
    return scratch


def default_perfbench():
    built = (ROOT / "build" / tree / "bin" / "perfbench" for tree in ("cpu", "cuda", "gpu_kit"))
    return next((file for file in built if file.exists()), None)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"{self.prog}: {message}", file=sys.stderr)
        sys.exit(WRONG_INPUT)


def parse_arguments():
    parser = Parser(prog="ci/gpu_kit.sh report", description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, nargs="+", metavar="FOLDER|ARCHIVE")
    parser.add_argument("--db", type=pathlib.Path, default=ROOT / "build" / "gpu_kit.db")
    parser.add_argument("--perfbench", type=pathlib.Path, default=default_perfbench())
    parser.add_argument("--state", type=pathlib.Path, help="a session's state.tsv, whose lines the tree takes")
    parser.add_argument("--figures", type=pathlib.Path, help="a session's figures.tsv; default beside the first archive")
    options = parser.parse_args()
    if not options.perfbench:
        parser.error("no perfbench in build/cpu, build/cuda or build/gpu_kit: build it, or give --perfbench BIN")
    return options


def report(options, scratch):
    results = unpacked(options.results, scratch / "results")
    parts = sorted(file.parent for name in ("part*", "session*") for file in results.glob(f"{name}/steps.tsv"))
    if not parts:
        print(f"gpu_kit: {results} has no part*/steps.tsv: it holds no results of run.sh or session.sh", file=sys.stderr)
        return WRONG_INPUT
    steps = [step for part in parts for step in read_steps(part)]
    kit = next((part / "kit.txt" for part in (results, *parts) if (part / "kit.txt").exists()), None)
    print(f"# {results.name}\n\n" + (kit.read_text() if kit else ""))
    figures = options.figures or options.results[0].parent / "figures.tsv"
    if figures.exists():
        session_table.print_session(results, figures)
    if options.state:
        print(f"{session_table.take_in_state(options.state)} lines for {session_table.STATE.relative_to(ROOT)}\n")
    print_failed(steps)
    print_steps(steps)
    fine = print_tests(steps)
    options.db.parent.mkdir(parents=True, exist_ok=True)
    made = take_in(options, steps, scratch)
    fine = print_speeds(options, made) and fine
    print_operations(options, made)
    if any(step.part.name == "part4" for step in steps):
        print_peers(steps)
    for step in steps:
        if step.code == 0 and step.name in ("ncu", "overhead"):
            {"ncu": print_ncu, "overhead": print_overhead}[step.name](step.log)
    return 0 if fine and not any(step.failed for step in steps) else 1


def main():
    options = parse_arguments()
    with tempfile.TemporaryDirectory() as scratch:
        (pathlib.Path(scratch) / "results").mkdir()
        return report(options, pathlib.Path(scratch))


if __name__ == "__main__":
    sys.exit(main())
