#!/usr/bin/env python3
"""Prints what a change can affect in a configured build tree: test executables, or sources.

usage: affected.py TREE [--since COMMIT] [--sources]

A test executable is affected if a source that it links, a header that such a source includes, another file that it is
built from, data beside its tests, or a program that it starts was changed. Changed are the files that differ from
COMMIT, committed or not. Without --since, COMMIT is the first word of ci/full_tier_passed, the last commit that passed
every test. Everything is affected with --since all, if that commit is unknown here, if a build file of the whole tree
was changed, or other data that tests read.

Executables come in the order of the part of their sources that is affected, the largest first.

With --sources, prints the sources of the tree's compile_commands.json that a change can affect, one on a line.
"""
import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = {".h", ".cpp", ".cu", ".cuh"}
# Tests without an executable of their own, which ctest and the stages run whatever was changed.
SCRIPTED_TESTS = ("tests/browser/", "tests/ci/", "tests/benchmarks/")
BUILD_FILES = ("CMakeLists.txt", "CMakePresets.json", "ci/cmake/", "ci/packages.txt")
TEXTS = {".md", ".txt"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.splitlines()


def passed_commit():
    file = ROOT / "ci/full_tier_passed"
    return file.read_text().split()[0] if file.exists() else None


def changed_files(commit):
    """Paths below the root, or None if git does not know the commit."""
    try:
        return {*output_of("git", "diff", "--name-only", commit), *output_of("git", "ls-files", "-o", "--exclude-standard")}
    except subprocess.CalledProcessError:
        return None


def may_be_read(file):
    """Whether an executable may read the file when it runs, or a whole tree is built from it."""
    path = Path(file)
    if file.startswith(BUILD_FILES):
        return True
    if path.suffix in {*CODE, *TEXTS} or path.name == "CMakeLists.txt" or file.startswith(SCRIPTED_TESTS):
        return False
    return path.parts[0] in ("matrices", "workloads", "tests", "engine", "harness", "reports")


class Executables:
    """The test executables of a tree, and what they are built from."""

    def __init__(self, tree):
        rule = re.compile(r"^(tests/[\w/-]+): CXX_EXECUTABLE_LINKER__(\w+)_")
        matches = map(rule.match, output_of("ninja", "-C", tree, "-t", "targets", "all"))
        self.paths = {match.group(2): match.group(1) for match in matches if match}
        self.inputs = {name: [(Path(tree) / one).resolve() for one in output_of("ninja", "-C", tree, "-t", "inputs", path)]
                       for name, path in self.paths.items()}

    def share_affected(self, name, sources):
        """The part of an executable's sources that are affected."""
        code = [one for one in self.inputs[name] if one.suffix in {*CODE, ".cxx"}]
        return sum(map(sources.are_affected, code)) / max(1, len(code))

    def readers(self, file):
        """The executables that a file of data belongs to; None if it may be any."""
        built = {name for name, inputs in self.inputs.items() if ROOT / file in inputs}
        if built or not file.startswith("tests/"):
            return built or None
        # Data of tests stand in the folder of their executables, or below it.
        for folder in Path(file).parents:
            beside = {name for name, path in self.paths.items() if Path(path).is_relative_to(folder)}
            if beside:
                return beside if len(folder.parts) > 1 else None
        return None


class Sources:
    """What each source includes, as paths below the root."""

    def __init__(self, changed):
        self.changed = changed
        self.folders = {str(Path(file).parent) for file in changed if Path(file).name == "CMakeLists.txt"}
        self.known = {}

    def is_affected(self, file):
        """Whether the file or anything that it includes was changed, or the build file of its folder."""
        if file not in self.known:
            self.known[file] = False  # of a circle
            path = ROOT / file
            self.known[file] = (file in self.changed or str(Path(file).parent) in self.folders or
                                (path.is_file() and any(self.is_affected(one) for one in INCLUDE.findall(path.read_text()))))
        return self.known[file]

    def are_affected(self, source):
        """The same of a source of a build tree, which may be one that includes several of ours."""
        path = Path(source)
        if "Unity" not in path.parts:
            return path.is_relative_to(ROOT) and self.is_affected(str(path.relative_to(ROOT)))
        return any(self.are_affected(one) for one in INCLUDE.findall(path.read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tree")
    parser.add_argument("--since", default=passed_commit())
    parser.add_argument("--sources", action="store_true")
    arguments = parser.parse_args()
    tree = str(Path(arguments.tree).resolve())
    commit = None if arguments.since == "all" else arguments.since
    changed = changed_files(commit) if commit else None
    executables = Executables(tree)
    readers = {file: executables.readers(file) for file in changed or () if may_be_read(file)}
    read_by_any = sorted(file for file, names in readers.items() if names is None)
    everything = changed is None or bool(read_by_any)
    sources = Sources(changed or set())
    if arguments.sources:
        files = [entry["file"] for entry in json.loads((Path(tree) / "compile_commands.json").read_text())]
        found = [file for file in files if everything or sources.are_affected(file)]
    else:
        shares = {name: 1 if everything else executables.share_affected(name, sources) for name in executables.paths}
        smallest = 1e-6
        for name in set().union(*(names or () for names in readers.values())):
            shares[name] = max(shares[name], smallest)
        found = sorted((name for name in shares if shares[name] > 0), key=shares.get, reverse=True)
    if everything and arguments.since != "all":
        why = "the commit is unknown" if changed is None else f"{read_by_any[0]} was changed"
        print(f"affected: everything, because {why}", file=sys.stderr)
    print("\n".join(found))


if __name__ == "__main__":
    main()
