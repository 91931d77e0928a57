#!/usr/bin/env python3
"""Times the engine's data-parallel training step on several ranks of this machine beside PyTorch's over gloo, alternating
step by step in one run: a mesh of dp ranks beside DistributedDataParallel, one of fsdp ranks beside FSDP2.

One JSON line for each case and kind. The machine's speed drifts by more than the differences of interest: the figure to
look at is torch_over_engine, the median over rounds of steps taken side by side. A step's time and a peak of memory are
those of the rank that has most. Needs build/cpu, and for PyTorch a Python that has torch (--torch-python).

example: bench_ranks.py --torch-python python3 --case llama-110m:4x256
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

import mkl_as_intel
from cells import case_settings
from engine_ranks import EngineRanks
from figures import rounded
from worker import RankWorkers, Worker

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASES = ["llama-110m:4x256"]
PEERS = {"dp": "DistributedDataParallel", "fsdp": "FSDP2"}


def settings_of(case, kind, options):
    return {**case_settings(case), kind: options.ranks, "threads_per_rank": options.threads,
            "steps": options.warmup + options.rounds}


def start_peers(kind, run, options, folder):
    command = [options.torch_python, ROOT / "ci/bench/peer_torch_ranks.py", "--run", run, "--kind", kind, "--ranks",
               options.ranks, "--threads", options.threads, "--store", folder / "store"]
    environment = mkl_as_intel.environment(options.mkl_as_intel, folder)
    workers = RankWorkers(
        [Worker([*command, "--rank", rank], options.threads, environment) for rank in range(options.ranks)])
    workers.await_ready()
    return workers


def measure(case, kind, options):
    """(The engine's step_ns of every round and its peak_rss_bytes, PyTorch's answers: none without it)."""
    settings = settings_of(case, kind, options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        with EngineRanks(options.build, folder / "engine", settings, options.ranks) as engine:
            engine.await_turn()
            peers = start_peers(kind, engine.attempt() / "run.json", options, folder) if options.torch_python else None
            answers = []
            for _ in range(settings["steps"]):
                engine.step()
                if peers:
                    answers.append(peers.step())
            if peers:
                peers.close()
            measured = engine.finish()
    measured["step_ns"] = measured["step_ns"][options.warmup:]
    return measured, answers[options.warmup:]


def summarise(case, kind, engine, answers, options):
    row = {"case": case, "kind": kind, "ranks": options.ranks, "threads": options.threads, "rounds": len(engine["step_ns"]),
           "engine_s": statistics.median(engine["step_ns"]) * 1e-9, "engine_peak_gib": engine["peak_rss_bytes"] / 2**30}
    if not answers:
        return {**row, "skipped": "PyTorch: no --torch-python", "mkl_as_intel": False}
    torch_ns = [answer["step_ns"] for answer in answers]
    return {**row, "peer": PEERS[kind], "mkl_as_intel": options.mkl_as_intel,
            "torch_s": statistics.median(torch_ns) * 1e-9,
            "torch_over_engine": statistics.median(torch / own for torch, own in zip(torch_ns, engine["step_ns"])),
            "torch_peak_gib": answers[-1]["peak_rss_bytes"] / 2**30,
            "memory_over_torch": engine["peak_rss_bytes"] / answers[-1]["peak_rss_bytes"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "cpu")
    parser.add_argument("--torch-python", help="a Python with torch; without it the engine is timed alone")
    parser.add_argument("--case", action="append",
                        help=f"MODEL:BATCHxSEQ, BATCH of all ranks, repeatable; default {' '.join(CASES)}")
    parser.add_argument("--kind", action="append", choices=list(PEERS), help="repeatable; default all")
    parser.add_argument("--ranks", type=int, default=2, help="two or more")
    parser.add_argument("--threads", type=int, default=1, help="of each rank")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--warmup", type=int, default=2)
    mkl_as_intel.add_option(parser)
    options = parser.parse_args()
    if options.ranks < 2:
        parser.error("--ranks: two or more; bench_engine.py times one")
    for case in options.case or CASES:
        for kind in options.kind or PEERS:
            print(json.dumps(rounded(summarise(case, kind, *measure(case, kind, options), options))), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
