#!/usr/bin/env python3
"""Compiles each source of a unity build by itself, without code: a source may use what only its neighbours include.

usage: sources_alone.py TREE FOLDER... [--since COMMIT]

Preset dev compiles sources one by one, and no other stage does. With --since, only the sources that differ from COMMIT.
The flags are those of the batch that holds the source.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDED = re.compile(r'^#include "(.+\.cpp)"', re.MULTILINE)


def commands(tree):
    """Source -> the folder and the words of a command that checks its syntax."""
    found = {}
    for entry in json.loads((tree / "compile_commands.json").read_text()):
        batch = Path(entry["file"])
        if "/Unity/" not in entry["file"] or not batch.exists():
            continue
        words = shlex.split(entry["command"])
        compiler = next(i for i, word in enumerate(words) if re.search(r"(\+\+|clang|gcc)[-0-9]*$", word))
        kept, skipped = [], {"-o", "-c", "-MT", "-MF"}
        rest = iter(words[compiler:])
        for word in rest:
            if word in skipped:
                next(rest)
            elif word != "-MD":
                kept.append(word)
        for source in INCLUDED.findall(batch.read_text()):
            found[source] = (entry["directory"], [*kept, "-fsyntax-only", source])
    return found


def complaint(folder, words):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    return done.stderr if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--since", metavar="COMMIT")
    arguments = parser.parse_args()
    wanted = {source: command for source, command in commands(arguments.tree).items()
              if source.startswith(tuple(f"{ROOT}/{folder}/" for folder in arguments.folders))}
    if not wanted:
        sys.exit(f"{arguments.tree} has no unity batches of {', '.join(arguments.folders)}")
    if arguments.since:
        changed = subprocess.run(["git", "diff", "--name-only", arguments.since], capture_output=True, text=True, cwd=ROOT)
        if changed.returncode == 0:  # otherwise the commit is unknown here, and all are checked
            names = {f"{ROOT}/{name}" for name in changed.stdout.split()}
            wanted = {source: command for source, command in wanted.items() if source in names}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(lambda command: complaint(*command), wanted.values()) if text]
    print("".join(complaints), end="")
    print(f"{len(wanted)} sources compiled by themselves, {len(complaints)} failed")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
