#!/usr/bin/env python3
"""Runs clang-tidy with .clang-tidy's checks over the sources of a build tree, leaving out what it found clean before.

The tree must be built: what a source includes is read from ninja's log.

Where the tree compiles several files at once they are checked at once, in a third of the time: a check reports on
whatever of these folders a source includes. misc-unused-using-decls does not; check_includes.py looks for those.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time
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
            text = file.read_bytes().replace(str(self.root).encode(), b"")
            self.contents[file] = hashlib.sha256(text).digest()
        return self.contents[file]

    def of(self, entry):
        digest = hashlib.sha256(self.base + entry["command"].replace(str(self.root), "").encode())
        files = {(self.tree / name).resolve() for name in self.dependencies.get(object_file(entry), [])}
        for file in sorted({Path(entry["file"]).resolve()} | files):
            if self.root in file.parents and file.is_file():
                digest.update(self._content(file))
        return digest.hexdigest()


def check(tree, file, end):
    """The exit code of clang-tidy and its findings; no code where the time is over."""
    if time.monotonic() > end:
        return None, ""
    # The flags may be g++'s; one that clang does not know is no finding.
    command = [TOOL, "--quiet", "-p", str(tree), "--extra-arg=-Wno-unknown-warning-option", file]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path)
    parser.add_argument("folders", nargs="+", metavar="folder")
    parser.add_argument("--only", type=Path, metavar="FILE", help="names the sources to check, one on a line")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no source after this time")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    root = Path(__file__).resolve().parent.parent
    tree = arguments.tree.resolve()
    if not (tree / ".ninja_deps").exists():
        sys.exit(f"clang-tidy: {tree} is not built; ci/test.sh build builds it")
    folders = tuple(f"{place / folder}{os.sep}" for folder in arguments.folders for place in (root, tree))
    entries = [e for e in json.loads((tree / "compile_commands.json").read_text()) if e["file"].startswith(folders)]
    if not entries:
        sys.exit(f"clang-tidy: {tree} compiles nothing of {', '.join(arguments.folders)}")
    if arguments.only is not None:
        only = set(arguments.only.read_text().splitlines())
        entries = [e for e in entries if e["file"] in only]
    # As ccache does: outside of the tree, so that a fresh clone knows it too.
    clean = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "perfbench-tidy"
    clean.mkdir(parents=True, exist_ok=True)
    fingerprints = Fingerprints(root, tree)
    stamps = {entry["file"]: clean / fingerprints.of(entry) for entry in entries}
    todo = [file for file, stamp in stamps.items() if not stamp.exists()]
    failed = left = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for file, (code, output) in zip(todo, pool.map(lambda file: check(tree, file, end), todo)):
            if code is None:
                left += 1
            elif code == 0:
                stamps[file].touch()
            else:
                failed += 1
                print(output)
    print(f"clang-tidy: {len(stamps)} sources, {len(stamps) - len(todo)} known to be clean, {failed} with findings")
    if left:
        print(f"left to the full tier: after {arguments.seconds:.0f} s, {left} sources")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
