#!/usr/bin/env python3
"""What watching a step costs it: steps that nobody watches alternate in one process with steps under the span recorder,
under CUPTI and under NVML (`perfbench-engine overhead`). The ratio is that of one round; its median has a 95 % interval.

The design asks for less than 0.5 % with CUPTI and 0.1 % with NVML. A limit is kept when the whole interval is below it,
broken when the whole interval is above it; else the rounds were too few to say.

example: gpu_overhead.py --build build/cuda --folder build/gpu/overhead
Exit code 1 when a limit is broken.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from cells import run_cell
from figures import ratio_summary

LIMITS = {"device": 1.005, "telemetry": 1.001}


def verdict(ratio, limit):
    if ratio["high"] <= limit:
        return "kept"
    return "broken" if ratio["low"] > limit else "undecided"


def summarise(rows):
    """By watcher: the ratio to unwatched steps, with limit and verdict where there is a limit."""
    summary = {}
    for by in dict.fromkeys(row["by"] for row in rows):
        if by == "nobody":
            continue
        ratio = ratio_summary(rows, by, "nobody", "by", "wall_ns", "round")
        summary[by] = ratio
        if by in LIMITS:
            summary[by] = {**ratio, "limit": LIMITS[by], "verdict": verdict(ratio, LIMITS[by])}
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/cuda"))
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--model", default="seqax-270m")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seq", type=int, default=2048)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    settings = {"model": options.model, "global_batch": options.batch, "seq_len": options.seq, "device": options.device,
                "precision": "bf16" if options.device == "cuda" else "fp32", "attention": "flash", "steps": 1}
    attempt = run_cell(options.build, options.folder / "cell", settings)
    command = [options.build / "bin" / "perfbench-engine", "overhead", "--dir", attempt, "--rounds", options.rounds]
    done = subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True)
    (options.folder / "steps.jsonl").write_text(done.stdout)
    summary = summarise([json.loads(line) for line in done.stdout.splitlines()])
    for by in LIMITS.keys() - summary.keys():
        print(f"skipped: {by}: this engine or machine has none")
    (options.folder / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    print(json.dumps(summary, indent=1))
    return 1 if any(entry.get("verdict") == "broken" for entry in summary.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
