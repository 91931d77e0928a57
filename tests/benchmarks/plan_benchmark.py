#!/usr/bin/env python3
"""How long `perfbench plan` takes for large matrices, and how much memory: a Markdown row each.

    plan_benchmark.py PERFBENCH [CELLS ...]      1000 10000 100000 unless given

A matrix is made of two kinds: `settings`, whose axes are mostly ones on which no count depends (steps, seeds, learning
rates), and `shapes`, in which every cell has counts of its own.
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

HEAD = "name: large\ndefaults: {model: gpt-mini, steps: 5}\naxes:\n"


def numbers(first, count, step=1):
    return "[" + ", ".join(str(first + i * step) for i in range(count)) + "]"


def settings(cells):
    return HEAD + f"""  global_batch: {numbers(1, 10)}
  seq_len: {numbers(8, 10, 8)}
  optimizer.warmup_steps: {numbers(0, 10)}
  seed: {numbers(0, cells // 1000)}
"""


def shapes(cells):
    return HEAD + f"""  global_batch: {numbers(1, 10)}
  seq_len: {numbers(8, 10, 8)}
  model.d_ff: {numbers(128, 10, 16)}
  model.vocab_size: {numbers(256, cells // 1000, 8)}
"""


def measure(perfbench, matrix):
    """Seconds, seconds of the processor, MB of perfbench itself at its peak."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "large.yaml")
        with open(file, "w", encoding="utf-8") as out:
            out.write(matrix)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        with subprocess.Popen([perfbench, "plan", file], stdout=subprocess.DEVNULL) as plan:
            _, status, usage = os.wait4(plan.pid, 0)
            plan.returncode = os.waitstatus_to_exitcode(status)
        if plan.returncode != 0:
            sys.exit(f"{perfbench} plan ended with {plan.returncode}")
        wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return wall, processor, usage.ru_maxrss / 1024


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| matrix | cells | s | processor s | peak MB |\n| --- | --- | --- | --- | --- |")
    for cells in [int(word) for word in sys.argv[2:]] or [1000, 10000, 100000]:
        for kind in (settings, shapes):
            wall, processor, peak = measure(sys.argv[1], kind(cells))
            print(f"| {kind.__name__} | {cells:,} | {wall:.1f} | {processor:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    main()
