#!/usr/bin/env python3
"""Stands in for Slurm: sbatch, squeue, scontrol and scancel, and the controller that runs the jobs of a folder.

The folder JOBS holds for each job N: N.json, its script and output; N.pid; N.state, once it has ended. A file `refuse`
makes sbatch fail. A file `end` with the words FILE STATE ends the first job as soon as its session has that file, as
Slurm ends a job at its time limit.
"""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

JOBS = Path(os.environ["JOBS"])


def option(words, name):
    return next((word.partition("=")[2] for word in words if word.startswith(f"--{name}=")), "")


def sbatch(words):
    if (JOBS / "refuse").exists():
        sys.exit("sbatch: error: invalid partition specified")
    first = next(i for i, word in enumerate(words) if not word.startswith("--"))
    number = len(list(JOBS.glob("*.json"))) + 1
    job = {"words": words[:first], "name": option(words, "job-name"), "log": option(words, "output"), "run": words[first:]}
    (JOBS / "new").write_text(json.dumps(job))
    os.rename(JOBS / "new", JOBS / f"{number}.json")
    print(number)


def squeue(words):
    for file in JOBS.glob("*.json"):
        if json.loads(file.read_text())["name"] == option(words, "name"):
            print(file.stem)


def scontrol(words):
    number = words[-1]
    if not (JOBS / f"{number}.json").exists():
        sys.exit("slurm_load_jobs error: Invalid job id specified")
    state = JOBS / f"{number}.state"
    print(f"JobId={number} JobName=x JobState={state.read_text() if state.exists() else 'RUNNING'} Reason=None NodeList=n7")


def end_job(number, state):
    (JOBS / f"{number}.ending").write_text(state)
    os.killpg(int((JOBS / f"{number}.pid").read_text()), signal.SIGKILL if state == "TIMEOUT" else signal.SIGTERM)


def controller():
    running = {}
    while True:
        for file in JOBS.glob("*.json"):
            if file.stem not in running:
                job = json.loads(file.read_text())
                with open(job["log"], "a") as log:
                    environment = {**os.environ, "SLURM_JOB_ID": file.stem, "SLURM_JOB_NODELIST": "n7"}
                    running[file.stem] = subprocess.Popen(["sh", *job["run"]], stdout=log, stderr=log, env=environment,
                                                          start_new_session=True)
                (JOBS / f"{file.stem}.pid").write_text(str(running[file.stem].pid))
        rule = JOBS / "end"
        if rule.exists() and "1" in running:
            name, state = rule.read_text().split()
            if (Path(json.loads((JOBS / "1.json").read_text())["log"]).parent / name).exists():
                rule.unlink()
                end_job("1", state)
        for number, process in running.items():
            code = process.poll()
            ending = JOBS / f"{number}.ending"
            if code is not None and not (JOBS / f"{number}.state").exists():
                state = ending.read_text() if ending.exists() else "COMPLETED" if code == 0 else "FAILED"
                (JOBS / f"{number}.state").write_text(state)
        time.sleep(0.02)


def main():
    name, words = Path(sys.argv[0]).name, sys.argv[1:]
    if name == "scancel":
        end_job(words[-1], "CANCELLED")
    elif name in ("sbatch", "squeue", "scontrol"):
        {"sbatch": sbatch, "squeue": squeue, "scontrol": scontrol}[name](words)
    else:
        controller()


if __name__ == "__main__":
    main()
