#!/usr/bin/env python3
"""Runs clang-tidy with .clang-tidy's checks over the sources of a build tree, leaving out what it found clean before.

usage: tidy.py BUILD_TREE FOLDER ...     the tree must be built, each source by itself: what it includes is read from
ninja's log
"""
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

TOOL = "clang-tidy-14"


def read_dependencies(tree):
    """Object file -> the files it was compiled from, as paths relative to the tree or absolute."""
    text = subprocess.run(["ninja", "-C", tree, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if line.startswith("    "):
            current.append(line.strip())
        elif ": #deps" in line:
            current = found.setdefault(line.partition(":")[0], [])
    return found


def object_file(entry):
    return re.search(r" -o (\S+)", entry["command"]).group(1)


class Fingerprints:
    """A hash for each source over itself, what it includes from this repository, its command and the checks."""

    def __init__(self, root, tree):
        self.root, self.tree = root, tree
        self.dependencies = read_dependencies(tree)
        self.contents = {}
        version = subprocess.run([TOOL, "--version"], check=True, capture_output=True).stdout
        self.base = version + (root / ".clang-tidy").read_bytes()

    def _content(self, file):
        if file not in self.contents:
            self.contents[file] = hashlib.sha256(file.read_bytes()).digest()
        return self.contents[file]

    def of(self, entry):
        digest = hashlib.sha256(self.base + entry["command"].replace(str(self.root), "").encode())
        files = {(self.tree / name).resolve() for name in self.dependencies.get(object_file(entry), [])}
        for file in sorted({Path(entry["file"]).resolve()} | files):
            if self.root in file.parents and file.is_file():
                digest.update(self._content(file))
        return digest.hexdigest()


def check(tree, entry):
    # The flags are g++'s; one that clang does not know is no finding.
    command = [TOOL, "--quiet", "-p", str(tree), "--extra-arg=-Wno-unknown-warning-option", entry["file"]]
    done = subprocess.run(command, capture_output=True, text=True)
    return entry, done.returncode, done.stdout


def main():
    root = Path(__file__).resolve().parent.parent
    tree = Path(sys.argv[1]).resolve()
    folders = tuple(f"{root / folder}{os.sep}" for folder in sys.argv[2:])
    entries = [e for e in json.loads((tree / "compile_commands.json").read_text()) if e["file"].startswith(folders)]
    if not entries:
        sys.exit(f"clang-tidy: no source of {', '.join(sys.argv[2:])} is compiled by itself in {tree}; "
                 "configure it with -DCMAKE_UNITY_BUILD=OFF")
    # As ccache does: outside of the tree, so that a fresh clone knows it too.
    clean = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfbench-tidy"
    clean.mkdir(parents=True, exist_ok=True)
    fingerprints = Fingerprints(root, tree)
    stamps = {e["file"]: clean / fingerprints.of(e) for e in entries}
    todo = [e for e in entries if not stamps[e["file"]].exists()]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for entry, code, output in pool.map(lambda e: check(tree, e), todo):
            if code == 0:
                stamps[entry["file"]].touch()
            else:
                failed += 1
                print(output)
    print(f"clang-tidy: {len(entries)} sources, {len(entries) - len(todo)} known to be clean, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
