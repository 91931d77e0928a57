#!/usr/bin/env python3
"""Scores the exported model by transformers, on the lines that perfbench scored: the same perplexity and accuracy.

usage: score_export.py FOLDER     as ci/text_run.sh left it; ends with 1 where they differ
"""
import json
import math
import sqlite3
import sys

import torch
import transformers

# Sums in f32 in other orders: a logit of 128 terms is off by 128 * 2^-24 of their magnitudes, some 10, and the mean over
# a thousand targets by less than one logit.
MOST_NATS = 128 * 2.0**-24 * 10


def main():
    folder = sys.argv[1]
    model = transformers.AutoModelForCausalLM.from_pretrained(f"{folder}/exported").eval()
    nll, tokens, right, rows = 0.0, 0, 0, 0
    with torch.no_grad():
        for line in open(f"{folder}/corpus/last_words.jsonl"):
            text = json.loads(line)["text"]
            ids = torch.tensor([list(text.encode())])
            first = text.rindex(" ")
            scores = model(ids[:, :-1]).logits[0, first - 1:].double().log_softmax(-1)
            wanted = ids[0, first:]
            nll -= scores.gather(-1, wanted[:, None]).sum().item()
            right += bool((scores.argmax(-1) == wanted).all())
            tokens += len(wanted)
            rows += 1
    database = sqlite3.connect(f"{folder}/text_run.db")
    ours = dict(database.execute("SELECT metric, value FROM v_metrics JOIN v_runs USING (attempt_key) "
                                 "WHERE matrix = 'resumed' AND metric LIKE 'eval_%'"))
    difference = abs(nll / tokens - math.log(ours["eval_perplexity"]))
    print(f"transformers: perplexity {math.exp(nll / tokens):.6f}, accuracy {right / rows:.4f}; "
          f"perfbench: {ours['eval_perplexity']:.6f}, {ours['eval_accuracy']:.4f}; {difference:.2e} nats apart")
    if difference > MOST_NATS or abs(right / rows - ours["eval_accuracy"]) > 1.5 / rows:
        sys.exit(f"score_export: more than {MOST_NATS:.1e} nats apart")


main()
