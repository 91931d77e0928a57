#!/usr/bin/env python3
"""Divides what Debian carries as text: every tenth file is held back, and its lines are LAMBADA's kind.

usage: divide_corpus.py FOLDER     FOLDER/train/*.txt to learn from, FOLDER/last_words.jsonl to score
"""
import glob
import json
import re
import sys
from pathlib import Path

LONGEST_LINE = 120  # bytes: with its last word it fits a row of 128
MOST_LINES = 400


def main():
    folder = Path(sys.argv[1])
    (folder / "train").mkdir(parents=True)
    files = sorted(glob.glob("/usr/share/common-licenses/*") + glob.glob("/usr/share/doc/*/copyright"))
    learnt, held_back = set(), []
    for i, file in enumerate(files):
        text = Path(file).read_bytes().decode("ascii", "ignore")
        lines = {re.sub(r"\s+", " ", line).strip() for line in text.splitlines()}
        if i % 10 == 9:
            held_back.append(lines)
        else:
            (folder / "train" / f"{i}.txt").write_text(text)
            learnt |= lines
    # Licences quote each other: what was learnt word for word is not held back.
    fresh = sorted({line for lines in held_back for line in lines - learnt
                    if 40 <= len(line) <= LONGEST_LINE and line.count(" ") >= 5})
    chosen = fresh[:: max(1, len(fresh) // MOST_LINES)][:MOST_LINES]
    with open(folder / "last_words.jsonl", "w") as out:
        for line in chosen:
            print(json.dumps({"text": line}), file=out)
    print(f"{len(files)} files, {len(chosen)} of {len(fresh)} lines held back")


main()
