"""Single cells through the harness, for benchmarks: names resolve in one place."""

import json
import pathlib
import subprocess


def case_settings(case):
    """Of a case as the benchmarks are asked for it: MODEL:BATCHxSEQ."""
    model, shape = case.split(":")
    batch, seq_len = (int(part) for part in shape.split("x"))
    return {"model": model, "global_batch": batch, "seq_len": seq_len}


def cell_command(build, folder, settings):
    """The command of a sweep over one cell, of a matrix made of `settings`."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    matrix = folder / "cell.yaml"
    matrix.write_text("name: cell\ndefaults: " + json.dumps(settings) + "\n")  # JSON is YAML
    command = [pathlib.Path(build) / "bin" / "perfbench", "sweep", matrix, "--repeats", "1", "--db", folder / "cells.db",
               "--runs", folder / "runs"]
    return [str(part) for part in command]


def attempts(folder):
    """The folders of what was executed in `folder`."""
    return {run.parent for run in (pathlib.Path(folder) / "runs").glob("*/*/run.json")}


def run_cell(build, folder, settings, environment=None):
    """Runs one cell of a matrix made of `settings`; its attempt's folder. Raises CalledProcessError."""
    command = cell_command(build, folder, settings)
    before = attempts(folder)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    made = attempts(folder) - before
    if len(made) != 1:
        raise RuntimeError(f"{folder}: one attempt was expected, {len(made)} were made")
    return made.pop()


def step_times_ns(attempt, rank=0):
    """Of one rank, in order."""
    lines = (attempt / f"steps.rank{rank}.jsonl").read_text().splitlines()
    return [json.loads(line)["wall_ns"] for line in lines]
