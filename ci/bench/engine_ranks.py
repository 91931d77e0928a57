"""The engine on several ranks, one step per request: a cell that the harness runs, and whose ranks sleep until it is their
turn (workloads/spec/turn_files.h)."""

import json
import os
import select
import shlex
import shutil
import subprocess

from cells import attempts, cell_command, step_times_ns

TIME_LIMIT_S = 86400  # waiting for its turns counts


def make_fifo(file):
    os.mkfifo(file)
    return os.open(file, os.O_RDWR | os.O_CLOEXEC)


def find_mpirun():
    """The one that the harness would take."""
    return os.environ.get("PERFBENCH_MPIRUN") or shutil.which("mpirun.openmpi") or shutil.which("mpirun") or "mpirun"


class EngineRanks:
    """Starts at once: await_turn() before the first step. As a context it ends what it started."""

    def __init__(self, build, folder, settings, ranks):
        self.folder, self.ranks = folder, ranks
        turns = folder / "turns"
        turns.mkdir(parents=True)
        self.asks = make_fifo(turns / "asks")
        self.go = [make_fifo(turns / f"go.{rank}") for rank in range(ranks)]
        # The harness starts the ranks as it starts any: what it starts them with adds the one argument.
        launcher = folder / "mpirun"
        launcher.write_text(f'#!/bin/sh\nexec {shlex.quote(find_mpirun())} "$@" --turns {shlex.quote(str(turns))}\n')
        launcher.chmod(0o700)
        self.sweep = subprocess.Popen(
            [*cell_command(build, folder, settings), "--timeout", str(TIME_LIMIT_S)], stdout=subprocess.DEVNULL,
            env=dict(os.environ, PERFBENCH_MPIRUN=str(launcher)))
        self.ended = os.pidfd_open(self.sweep.pid)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.sweep.terminate()  # nobody may be left waiting for a turn that never comes
        self.sweep.wait()
        for descriptor in (self.asks, self.ended, *self.go):
            os.close(descriptor)

    def attempt(self):
        return attempts(self.folder).pop()

    def await_turn(self):
        """Until every rank asks for its turn. Raises RuntimeError when the engine ends before."""
        asked = 0
        while asked < self.ranks:
            ready, _, _ = select.select([self.asks, self.ended], [], [])
            if self.asks not in ready:
                raise RuntimeError(f"the engine ended before its time: {self.why_ended()}")
            asked += len(os.read(self.asks, self.ranks - asked))

    def why_ended(self):
        files = [attempt / "attempt.json" for attempt in attempts(self.folder)]
        return next((json.loads(file.read_text())["reason"] for file in files if file.exists()), "it was not started")

    def give_turn(self):
        for descriptor in self.go:
            os.write(descriptor, b"t")

    def step(self):
        self.give_turn()
        self.await_turn()

    def finish(self):
        """After the last step: what its ranks wrote. Raises RuntimeError when the engine failed in the end."""
        self.give_turn()
        if self.sweep.wait() != 0:
            raise RuntimeError(f"the engine failed: {self.why_ended()}")
        attempt = self.attempt()
        ranks = json.loads((attempt / "result.json").read_text())["ranks"]
        times_ns = zip(*(step_times_ns(attempt, rank) for rank in range(self.ranks)))
        return {"step_ns": [max(step) for step in times_ns],  # as long as its slowest rank takes
                "peak_rss_bytes": max(rank["resident_bytes"] for rank in ranks)}
