#!/usr/bin/env python3
"""The cells of one part of the kit, each with its run.json, as the harness resolves a matrix on a machine without a
GPU: it plans them, and keeps run directories of what it did not run.

FOLDER/NN-LABEL/ gets run.json, planned.json (the attempt.json of a run that has yet to be made; recorded_cells.py makes
it) and, where the engine can say it, operations.json (what each operation computes and moves in a step, by the dry
walk).

usage: planned_cells.py --perfbench BIN --engine BIN --hardware NAME MATRIX FOLDER
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PLANNED = "planned only:"  # how the harness begins the reason of a cell that only lacks a GPU


def name_of(number, label):
    return f"{number:02}-" + re.sub(r"[^A-Za-z0-9.]+", "-", label).strip("-")


def write_cells(options, scratch):
    # The kit ignores a GPU of this machine.
    environment = {**os.environ, "PERFBENCH_ENGINE": str(options.engine), "CUDA_VISIBLE_DEVICES": ""}
    selection = [str(options.matrix)] + (["--set", f"hardware={options.hardware}"] if options.hardware else [])
    plan = subprocess.run([options.perfbench, "plan", *selection, "--format", "json"], env=environment, check=True,
                          stdout=subprocess.PIPE, text=True)
    subprocess.run([options.perfbench, "sweep", *selection, "--repeats", "1", "--db", scratch / "kit.db", "--runs",
                    scratch / "runs"], env=environment, check=True, capture_output=True)
    for number, cell in enumerate(json.loads(plan.stdout)["cells"], 1):
        planned = scratch / "runs" / cell["run_id"][:16] / "001"
        reason = json.loads((planned / "attempt.json").read_text())["reason"]
        if not reason.startswith(PLANNED):
            print(f"{cell['cell']} is left out: {reason}", file=sys.stderr)
            continue
        folder = options.folder / name_of(number, cell["cell"])
        folder.mkdir(parents=True)
        shutil.copy(planned / "run.json", folder / "run.json")
        shutil.copy(planned / "attempt.json", folder / "planned.json")
        estimate = subprocess.run([options.engine, "dry", "--operations", folder / "run.json"], capture_output=True,
                                  text=True)
        if estimate.returncode == 0:
            (folder / "operations.json").write_text(estimate.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--perfbench", type=pathlib.Path, required=True)
    parser.add_argument("--engine", type=pathlib.Path, required=True)
    parser.add_argument("--hardware", default="", help="whose peaks MFU means; the matrix's unless given")
    parser.add_argument("matrix", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        write_cells(options, pathlib.Path(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main())
