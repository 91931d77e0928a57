#!/usr/bin/env python3
"""Holds the training that was killed and gone on with against the one in one go.

usage: compare_runs.py FOLDER     as ci/text_run.sh left it; ends with 1 where they differ by more than their meshes explain
"""
import sqlite3
import sys

# Two meshes add in other orders: each step's difference of 2^-24 of a sum grows with the training. Seeds differ by
# tenths of a nat; a lost moment or a wrong row of data is a jump of hundredths where it happened.
MOST_NATS = 0.02


def main():
    database = sqlite3.connect(f"{sys.argv[1]}/text_run.db")
    losses = {}
    for matrix in ("in_one_go", "resumed"):
        losses[matrix] = dict(database.execute(
            "SELECT step, loss FROM v_steps JOIN v_runs USING (attempt_key) WHERE matrix = ? AND rank = 0", (matrix,)))
    metrics = {matrix: dict(database.execute(
        "SELECT metric, value FROM v_metrics JOIN v_runs USING (attempt_key) WHERE matrix = ?", (matrix,)))
        for matrix in losses}
    shared = sorted(losses["resumed"])
    worst = max(abs(losses["resumed"][step] - losses["in_one_go"][step]) for step in shared)
    last = shared[-1]
    print(f"loss {losses['in_one_go'][0]:.4f} -> in one go {losses['in_one_go'][last]:.4f}, "
          f"resumed at step {shared[0]} {losses['resumed'][last]:.4f}; largest difference of a step {worst:.6f} nats")
    for metric in ("eval_accuracy", "eval_perplexity", "checkpoint_bytes", "checkpoint_stall_s",
                   "checkpoint_save_time_s", "restore_time_s"):
        values = [metrics[matrix].get(metric) for matrix in losses]
        print(f"{metric:24}" + "".join(f"{'-' if value is None else format(value, '.6g'):>14}" for value in values))
    if last != max(losses["in_one_go"]) or worst > MOST_NATS:
        sys.exit(f"compare_runs: differs by more than {MOST_NATS} nats, or ends at another step")


main()
