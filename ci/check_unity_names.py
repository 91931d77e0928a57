#!/usr/bin/env python3
"""Finds functions of one name in unnamed namespaces of sources that a unity build compiles together.

usage: check_unity_names.py TREE     a build tree with compile_commands.json

With different parameters both compile, and a call in one file can silently mean the other file's function. Prints each
such name with its places, and exits with 1 if there is one.
"""
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
# clang-format keeps a function's first line in the first column: "Type name(".
FUNCTION = re.compile(r"^(?!\s|using |return |namespace |struct |class |enum |template|static_assert|TEST)[\w:<>,&*\[\] ]+?[ &*](\w+)\(")


def unnamed_functions(source):
    """The names of functions in unnamed namespaces of the file, each with its first line's number."""
    found = {}
    inside = False
    for number, line in enumerate(source.read_text(errors="replace").splitlines(), 1):
        if line == "namespace {":
            inside = True
        elif line.startswith("}  // namespace"):
            inside = False
        elif inside and (match := FUNCTION.match(line)):
            found.setdefault(match[1], number)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    bad = 0
    # Not the files in the tree: those of targets that are no more stay there.
    commands = json.loads((Path(sys.argv[1]) / "compile_commands.json").read_text())
    for unity in sorted({Path(command["file"]) for command in commands if "/Unity/unity_" in command["file"]}):
        places = defaultdict(list)
        for name in INCLUDE.findall(unity.read_text()):
            for function, line in unnamed_functions(Path(name)).items():
                places[function].append(f"{name}:{line}")
        for function, where in sorted(places.items()):
            if len(where) > 1:
                bad += 1
                print(f"{function}() is in unnamed namespaces of several sources of {unity.parent.parent.name}; rename one:")
                print("".join(f"  {place}\n" for place in where), end="")
    sys.exit(1 if bad else 0)


main()
