"""Single cells through the harness, for benchmarks: names resolve in one place."""

import json
import pathlib
import subprocess


def run_cell(build, folder, settings, environment=None):
    """Runs one cell of a matrix made of `settings`; its attempt's folder. Raises CalledProcessError."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    matrix = folder / "cell.yaml"
    matrix.write_text("name: cell\ndefaults: " + json.dumps(settings) + "\n")  # JSON is YAML
    runs = folder / "runs"
    before = set(runs.glob("*/*/run.json"))
    command = [pathlib.Path(build) / "bin" / "perfbench", "sweep", matrix, "--repeats", "1", "--db", folder / "cells.db",
               "--runs", runs]
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL, env=environment)
    made = set(runs.glob("*/*/run.json")) - before
    if len(made) != 1:
        raise RuntimeError(f"{folder}: one attempt was expected, {len(made)} were made")
    return made.pop().parent


def step_times_ns(attempt):
    """Of rank 0, in order."""
    lines = (attempt / "steps.rank0.jsonl").read_text().splitlines()
    return [json.loads(line)["wall_ns"] for line in lines]
