#!/usr/bin/env python3
"""Times the engine's steps beside PyTorch's (compiled) and JAX's on one GPU, in alternating processes: each has the
whole GPU while it runs, and a slow quarter of an hour meets all of them. Ratios are those of one round.

FOLDER/rounds.jsonl has a line for each measurement; what stands there is not measured again. FOLDER/summary.json has the
ratios' medians with 95 % intervals. A framework that cannot be imported, or has no GPU, is skipped and said to be.

example: gpu_peers.py --build build/cuda --folder build/gpu/peers --seconds 500
Exit codes: 0 done, 1 something failed, 75 time is up: call again.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

from cells import case_settings, run_cell, step_times_ns
from figures import ratio_summary

HERE = pathlib.Path(__file__).resolve().parent
# Sizes that leave each framework its room on 80 GB.
CASES = ["axlearn-fuji-1B-v3:4x2048", "gpt2-124m:32x1024", "seqax-270m:8x2048"]
UNTIMED_STEPS = 5
IMPORTS = {"torch": "import torch; assert '{device}' == 'cpu' or torch.cuda.is_available(), 'it sees no GPU'",
           "jax": "import jax; assert jax.default_backend() == ('cpu' if '{device}' == 'cpu' else 'gpu'), 'it sees no GPU'"}
OUT_OF_TIME = 75
INEXPRESSIBLE = 6


def settings_of(case, options):
    precision = "bf16" if options.device == "cuda" else "fp32"
    return {**case_settings(case), "device": options.device, "precision": precision, "attention": "flash",
            "remat": "minimal_flash", "steps": options.steps}


def why_absent(name, python, device):
    """Nothing, or why the framework cannot take part."""
    done = subprocess.run([python, "-c", IMPORTS[name].format(device=device)], capture_output=True, text=True)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]


def engine_steps(case, options):
    attempt = run_cell(options.build, options.folder / "cells" / case.replace(":", "-"), settings_of(case, options))
    return {"run": str(attempt / "run.json"), "steps_ns": step_times_ns(attempt)}


def peer_steps(name, python, run, options):
    command = [python, HERE / f"peer_steps_{name}.py", "--run", run, "--steps", str(options.steps), "--device", options.device]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout.strip().splitlines()[-1])
    words = (done.stderr.strip().splitlines() or ["no word"])[-1]
    return {"skipped" if done.returncode == INEXPRESSIBLE else "failed": words}


class Rounds:
    """The measurements so far, on disk as soon as they are made."""

    def __init__(self, file):
        self.file = file
        self.rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def find(self, case, number, who):
        return next((r for r in self.rows if (r["case"], r["round"], r["who"]) == (case, number, who)), None)

    def add(self, case, number, who, measured):
        row = {"case": case, "round": number, "who": who, **measured}
        if "steps_ns" in row:
            row["median_ns"] = statistics.median(row["steps_ns"][UNTIMED_STEPS:])
        self.rows.append(row)
        with self.file.open("a") as out:
            out.write(json.dumps(row) + "\n")
        print(f"{case} round {number} {who}: " +
              (f"{row['median_ns'] / 1e6:.2f} ms" if "median_ns" in row else json.dumps(measured)), flush=True)
        return row


def summarise(rows, absent):
    summary = {"absent": absent, "cases": {}}
    for case in dict.fromkeys(row["case"] for row in rows):
        timed = [row for row in rows if row["case"] == case and "median_ns" in row]
        entry = {who: {"median_ms": statistics.median(r["median_ns"] for r in timed if r["who"] == who) / 1e6}
                 for who in dict.fromkeys(r["who"] for r in timed)}
        for who in entry:
            if who != "engine":
                entry[who]["over_engine"] = ratio_summary(timed, who, "engine", "who", "median_ns", "round")
        for row in rows:
            if row["case"] == case and "median_ns" not in row:
                entry.setdefault(row["who"], {})["without"] = row.get("skipped") or row.get("failed")
        summary["cases"][case] = entry
    return summary


def measure(rounds, peers, options, deadline):
    """False when the time was up before all was measured."""
    for number in range(options.rounds):
        for case in options.case or CASES:
            order = ["engine", *peers]
            # The engine first in the first round: the peers read its run.json. Then every one is first in turn.
            order = order[number % len(order):] + order[:number % len(order)]
            for who in order:
                if rounds.find(case, number, who):
                    continue
                if time.monotonic() > deadline:
                    return False
                if who == "engine":
                    rounds.add(case, number, who, engine_steps(case, options))
                else:
                    run = rounds.find(case, 0, "engine")["run"]
                    rounds.add(case, number, who, peer_steps(who, peers[who], run, options))
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/cuda"))
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=86400, help="begins no measurement that may end later")
    parser.add_argument("--longest", type=float, default=180, help="seconds that one measurement may take")
    parser.add_argument("--rounds", type=int, default=6, help="six are the fewest that give a 95 %% interval")
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--case", action="append", help=f"MODEL:BATCHxSEQ, repeatable; default {' '.join(CASES)}")
    parser.add_argument("--torch-python", default=sys.executable)
    parser.add_argument("--jax-python", default=sys.executable)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    deadline = time.monotonic() + options.seconds - options.longest
    options.folder.mkdir(parents=True, exist_ok=True)
    pythons = {"torch": options.torch_python, "jax": options.jax_python}
    absent = {name: why for name, python in pythons.items() if (why := why_absent(name, python, options.device))}
    for name, why in absent.items():
        print(f"skipped: {name}: {why}", flush=True)
    rounds = Rounds(options.folder / "rounds.jsonl")
    complete = measure(rounds, {n: p for n, p in pythons.items() if n not in absent}, options, deadline)
    summary = summarise(rounds.rows, absent)
    (options.folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps(summary, indent=1))
    if not complete:
        return OUT_OF_TIME
    return 1 if any("failed" in row for row in rounds.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
