"""What the engine left on a GPU machine, judged and stored by the harness as if it had just ended here: the harness
starts a stand-in for the engine, which copies the recorded files and ends as the engine did."""

import json
import os
import pathlib
import shlex
import shutil
import subprocess

TIME_UP = 124
OF_THE_HARNESS = ("run.json", "planned.json", "operations.json", "engine.log", "attempt.json")
FIRST_SIGNAL = 128  # a shell's code of a process that a signal ended is 128 and the signal


def stand_in(cell, log, code):
    """A script that does to its --dir what the engine did to `cell`."""
    files = [file for file in sorted(cell.iterdir()) if file.name not in OF_THE_HARNESS]
    lines = ["#!/bin/sh"] + [f'cp {shlex.quote(str(file))} "$3/"' for file in files]
    lines += [f"cat {shlex.quote(str(log))}"] if log.exists() else []
    by_signal = FIRST_SIGNAL < code < FIRST_SIGNAL + 65
    return "\n".join([*lines, f"kill -{code - FIRST_SIGNAL} $$" if by_signal else f"exit {code}", ""])


def execute(perfbench, cell, planned, log, code, scratch):
    """The folder that the harness made of the recorded attempt."""
    before = scratch / "planned" / planned["run_id"][:16] / "001"
    before.mkdir(parents=True)
    shutil.copy(cell / "run.json", before / "run.json")
    # Only what was once executed can be executed again.
    (before / "attempt.json").write_text(json.dumps({**planned, "state": "crashed"}))
    engine = scratch / "perfbench-engine"
    engine.write_text(stand_in(cell, log, code))
    engine.chmod(0o755)
    done = subprocess.run([perfbench, "reproduce", before, "--runs", scratch / "runs"], capture_output=True, text=True,
                          env={**os.environ, "PERFBENCH_ENGINE": str(engine)})
    made = list((scratch / "runs").glob("*/*/attempt.json"))
    if len(made) != 1:
        raise RuntimeError(f"{cell}: the harness makes no attempt of it: {done.stdout}{done.stderr}")
    return made[0].parent


def take_in(perfbench, cell, step, runs, scratch):
    """The run directory of a cell below `runs`, with the times of the machine where it ran; one that exists is kept."""
    planned = json.loads((cell / "planned.json").read_text())
    number = int(cell.suffix[1:])
    place = pathlib.Path(runs) / planned["sweep_id"] / planned["run_id"][:16] / f"{number:03}"
    if (place / "attempt.json").exists():
        return place
    made = execute(perfbench, cell, planned, step.log, step.code, scratch)
    attempt = json.loads((made / "attempt.json").read_text())
    attempt |= {"attempt": number, "started_utc": step.started, "wall_ns": step.seconds * 10**9,
                "command": step.words.split()}
    if step.code == TIME_UP:
        attempt |= {"state": "timed_out", "reason": f"the time of its step was up after {step.seconds} s"}
    (made / "attempt.json").write_text(json.dumps(attempt))
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(made, place)
    return place
