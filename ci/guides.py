#!/usr/bin/env python3
"""Runs what guides tell their readers to run.

usage: ci/guides.py BIN FILE.md ...     BIN: the folder of the built perfbench

Each file has a scratch folder of its own, in which its blocks are taken in their order:

  ```yaml with a first line `# file: NAME`    is written there as NAME, without that line
  ```sh                                       each of its commands is run there, by itself; a command goes on behind a
                                              line that ends with \\, and ends with 0 or as it says: `... # exit 2`

Other blocks are text. Both `perfbench` and `./perfbench` are the built one. A command that ends otherwise is shown with
its place and its output, what follows it in its file is left out, and the exit code is 1.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

LIMIT_S = 300


class GuideError(Exception):
    """Of a guide itself: file:line and what is wrong there."""


class Block(NamedTuple):
    language: str
    line: int  # of its first line, counted from 1
    lines: list


class File(NamedTuple):
    line: int
    name: str
    text: str


class Command(NamedTuple):
    line: int
    text: str
    exit_code: int


def blocks(text, path):
    """The fenced blocks of Markdown."""
    found, opened = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if opened is not None and line.strip() == "```":
            found.append(opened)
            opened = None
        elif opened is not None:
            opened.lines.append(line)
        elif line.startswith("```"):
            opened = Block(line[3:].strip(), number + 1, [])
    if opened is not None:
        raise GuideError(f"{path}:{opened.line - 1}: this block is not closed")
    return found


def commands(block, path):
    joined, first = "", None
    for number, line in enumerate(block.lines, block.line):
        first = number if first is None else first
        joined += line[:-1] if line.endswith("\\") else line
        if line.endswith("\\"):
            continue
        if "<<" in joined:
            raise GuideError(f"{path}:{first}: a file is given by a block of its own, ```yaml with `# file: NAME`")
        if joined.strip() and not joined.lstrip().startswith("#"):
            code = re.search(r"\s# exit (\d+)\b", joined)
            yield Command(first, joined.strip(), int(code[1]) if code else 0)
        joined, first = "", None
    if joined:
        raise GuideError(f"{path}:{first}: the last line of the block ends with \\")


def steps(text, path):
    """What a guide asks for, in its order."""
    for block in blocks(text, path):
        named = re.fullmatch(r"# file: (\S+)", block.lines[0].strip()) if block.lines else None
        if block.language == "yaml" and named:
            yield File(block.line, named[1], "\n".join(block.lines[1:]) + "\n")
        elif block.language == "sh":
            yield from commands(block, path)


def environment(bin_folder):
    """A reader's: nothing of a CI system's perfbench, and no alert that leaves the machine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PERFBENCH_")}
    return {**kept, "PATH": f"{bin_folder}{os.pathsep}{kept['PATH']}"}


def run(command, folder, bin_folder):
    """Nothing if it ended as it should, else what to say."""
    try:
        end = subprocess.run(["bash", "-euo", "pipefail", "-c", command.text], cwd=folder, env=environment(bin_folder),
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
    except subprocess.TimeoutExpired as late:
        return f"still runs after {LIMIT_S} s", late.stdout or b""
    if end.returncode == command.exit_code:
        return None
    return f"ended with {end.returncode}, expected {command.exit_code}", end.stdout


def follow(path, folder, bin_folder):
    """Whether every command of the guide ended as it says."""
    (folder / "perfbench").symlink_to(bin_folder / "perfbench")
    for step in steps(path.read_text(), path):
        if isinstance(step, File):
            (folder / step.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / step.name).write_text(step.text)
            continue
        began = time.monotonic()
        wrong = run(step, folder, bin_folder)
        if wrong:
            what, output = wrong
            print(f"{path}:{step.line}: `{step.text}` {what}:\n{output.decode(errors='replace')}", flush=True)
            return False
        print(f"{path}:{step.line}: {time.monotonic() - began:5.1f} s  {step.text}", flush=True)
    return True


def main(bin_folder, paths):
    followed = []
    for path in paths:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                followed.append(follow(path, pathlib.Path(scratch), bin_folder))
            except GuideError as wrong:
                print(wrong)
                followed.append(False)
    return 0 if followed and all(followed) else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(p) for p in sys.argv[2:]]))
