"""Processes that take one training step per line `step` on their standard input and sleep until it comes."""

import json
import os
import subprocess


class Worker:
    """One such process. It starts at once: await_ready() before the first step."""

    def __init__(self, command, threads, environment=None):
        self.command = [str(part) for part in command]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), **(environment or {})}
        self.process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def await_ready(self):
        line = self.process.stdout.readline()
        if not line.startswith("ready "):
            raise RuntimeError(f"{' '.join(self.command)} did not become ready: {line!r}")

    def ask(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{' '.join(self.command)} ended in a step")
        return json.loads(line)

    def step(self):
        self.ask()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


class RankWorkers:
    """Workers that are the ranks of one training, which steps when all of them do."""

    def __init__(self, workers):
        self.workers = workers

    def await_ready(self):
        for worker in self.workers:
            worker.await_ready()

    def step(self):
        """Of each figure that of the rank that has most: the step takes as long as its slowest rank."""
        for worker in self.workers:
            worker.ask()
        answers = [worker.answer() for worker in self.workers]
        return {key: max(answer[key] for answer in answers) for key in ("step_ns", "peak_rss_bytes")}

    def close(self):
        for worker in self.workers:
            worker.process.stdin.close()
        for worker in self.workers:
            worker.close()
