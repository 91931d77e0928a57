#!/usr/bin/env python3
"""Times the engine's training step beside its floor and beside PyTorch, alternating step by step in one run.

The machine's speed drifts by more than the differences of interest, so only ratios of steps taken side by side are
reported: the median over rounds of engine/floor and torch/engine. Needs build/cpu (step_worker), and for the PyTorch
columns a Python that has torch (--torch-python).
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile

import mkl_as_intel
from cells import case_settings, run_cell
from figures import rounded
from worker import Worker

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ["gpt2-124m:4x64", "gpt2-124m:4x256", "gpt2-124m:1x1024", "llama-110m:4x64", "llama-110m:4x256", "llama-110m:1x1024"]


def measure(case, options):
    with tempfile.TemporaryDirectory() as temporary:
        settings = {**case_settings(case), **options.settings, "steps": 1}  # one step leaves the resolved run
        run = run_cell(options.build, temporary, settings) / "run.json"
        step_worker = options.build / "bin" / "step_worker"
        workers = {"engine": Worker([step_worker, "engine", run], options.threads),
                   "floor": Worker([step_worker, "floor", run], options.threads)}
        if options.torch_python:
            command = [options.torch_python, ROOT / "ci/bench/peer_torch.py", "--run", run, "--threads", options.threads]
            environment = mkl_as_intel.environment(options.mkl_as_intel, temporary)
            workers["torch"] = Worker(command, options.threads, environment)
            if options.compile:
                workers["compiled"] = Worker(command + ["--compile"], options.threads, environment)
        for worker in workers.values():
            worker.await_ready()
        rounds = []
        for number in range(options.warmup + options.rounds):
            answers = {name: worker.step() for name, worker in workers.items()}
            if number >= options.warmup:
                rounds.append(answers)
        for worker in workers.values():
            worker.close()
    return rounds


def summarise(case, rounds, options):
    def median(name, key="step_ns"):
        return statistics.median(answers[name][key] for answers in rounds)

    def ratio(above, below):
        return statistics.median(answers[above]["step_ns"] / answers[below]["step_ns"] for answers in rounds)

    row = {"case": case, "rounds": len(rounds), "engine_s": median("engine") * 1e-9, "floor_s": median("floor") * 1e-9,
           "engine_over_floor": ratio("engine", "floor"),
           "engine_gflops": median("engine", "model_flops") / median("engine"),
           "forward_share": median("engine", "forward_ns") / median("engine"),
           "backward_share": median("engine", "backward_ns") / median("engine"),
           "optimizer_share": median("engine", "optimizer_ns") / median("engine"),
           "engine_peak_gib": rounds[-1]["engine"]["peak_rss_bytes"] / 2**30,
           "mkl_as_intel": "torch" in rounds[0] and options.mkl_as_intel}
    for peer in ("torch", "compiled"):
        if peer in rounds[0]:
            row[f"{peer}_s"] = median(peer) * 1e-9
            row[f"{peer}_over_engine"] = ratio(peer, "engine")
            row[f"{peer}_peak_gib"] = rounds[-1][peer]["peak_rss_bytes"] / 2**30
            row[f"memory_over_{peer}"] = row["engine_peak_gib"] / row[f"{peer}_peak_gib"]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "cpu")
    parser.add_argument("--torch-python", help="a Python with torch; without it PyTorch is left out")
    parser.add_argument("--compile", action="store_true", help="torch.compile as a further peer")
    parser.add_argument("--case", action="append", help=f"MODEL:BATCHxSEQ, repeatable; default {' '.join(CASES)}")
    parser.add_argument("--settings", type=json.loads, default={}, metavar="JSON",
                        help="further keys of the cell: '{\"optimizer\": {\"in_backward\": true, \"clip_norm\": 0}}'")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warmup", type=int, default=2)
    mkl_as_intel.add_option(parser)
    options = parser.parse_args()
    for case in options.case or CASES:
        print(json.dumps(rounded(summarise(case, measure(case, options), options))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
