#!/usr/bin/env python3
"""Holds the sources to ci/include_rules.txt, forbids circles between files, keeps files short and printing in one place,
finds names that a `using` brings in vain, types that have one name, and keeps Python's own names from its scripts.

usage: check_includes.py [ROOT] [--table [--write]]

Prints one line per violation; exit code 1 when there is any. --table prints the rooms instead, with the floor of each
and what it includes, and the sizes of the top folders. --write puts the rooms into ARCHITECTURE.md.
"""
import argparse
import fnmatch
import re
import sys
from pathlib import Path

import rooms

FOLDERS = ("engine", "harness", "reports", "tests", "workloads")
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
SCRIPT_SUFFIXES = {".py", ".sh", ".cmake"}
MAX_LINES = 600
# Text of others reaches a terminal only through reports/render/format/print.h, which escapes terminal commands.
PRINTING = re.compile(
    r"\bfmt::print\b|\bstd::(cout|cerr|clog)\b|"
    r"(?<![\w:])(std::)?(f?printf|f?puts|f?putc|putchar|fwrite|perror)\s*\("
)
PRINTING_FOLDERS = ("harness/", "reports/")
PRINTING_FILE = "reports/render/format/print.cpp"
USING_DECLARATION = re.compile(r"^\s*using\s+[\w:]*::(\w+)\s*;")
NAMESPACE = re.compile(r"namespace(?: ([\w:]+))? \{")
TYPE = re.compile(r"(?:struct|class|enum class|enum|union) (\w+)(?: final)?(?: :[^:].*)? ?\{")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')


class Rules:
    def __init__(self, path):
        self.path = path
        self.folders, self.headers, self.generated = {}, {}, set()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            name, colon, rest = line.partition(":")
            if not colon:
                sys.exit(f"{path}:{number}: expected NAME: NAME ..., got '{line}'")
            if name == "generated":
                self.generated.update(rest.split())
            elif name.startswith(("<", '"')):
                self.headers[name.strip('<>"')] = rest.split()
            else:
                self.folders[name] = rest.split()
        self.reachable = {folder: self._reach(folder, ()) for folder in self.folders}

    def _reach(self, folder, above):
        if folder in above:
            sys.exit(f"{self.path}: a circle: {' -> '.join([*above, folder])}")
        if folder not in self.folders:
            sys.exit(f"{self.path}: '{above[-1]}' names '{folder}', which has no line of its own")
        found = {folder}
        for target in self.folders[folder]:
            found |= self._reach(target, (*above, folder))
        return found

    def folder_of(self, file):
        """The file's own rule (without its suffix), or that of the longest folder with one."""
        parts = component(file).split("/")
        while parts and "/".join(parts) not in self.folders:
            parts.pop()
        return "/".join(parts) or None


def read_includes(root, file):
    for number, line in enumerate((root / file).read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def check_own(rules, files, file, number, target):
    """A quoted include: it exists under the repository root, is a header, and its folder is allowed."""
    where = f"{file}:{number}:"
    if target in rules.generated:
        return
    if target not in files:
        yield f'{where} "{target}" is no file of this repository; quoted includes start at its root'
        return
    if target.endswith((".cpp", ".cu")):
        yield f'{where} "{target}" is not a header'
    own, other = rules.folder_of(file), rules.folder_of(target)
    for name, folder in ((file, own), (target, other)):
        if folder is None:
            yield f"{where} no rule for the folder of {name}; add one to ci/include_rules.txt"
            return
    if other not in rules.reachable[own]:
        yield f'{where} {own} must not include {other} ("{target}"); see ci/include_rules.txt'


def check_reserved(rules, file, number, foreign, own):
    header, shown = (foreign, f"<{foreign}>") if foreign else (own, f'"{own}"')
    for pattern, allowed in rules.headers.items():
        if fnmatch.fnmatch(header, pattern) and not any(fnmatch.fnmatch(file, name) for name in allowed):
            yield f"{file}:{number}: {shown} may be included only by {' '.join(allowed)}"


def check_printing(root, file):
    if not file.startswith(PRINTING_FOLDERS) or file == PRINTING_FILE:
        return
    for number, line in enumerate((root / file).read_text().splitlines(), 1):
        found = PRINTING.search(line.partition("//")[0])
        if found:
            yield f"{file}:{number}: {found.group(0).rstrip('( ')} prints text as it is; use reports/render/format/print.h"


def check_usings(root, file):
    """`using a::b;` in a source whose code does not say b again. One in a header is for those who include it."""
    if not file.endswith((".cpp", ".cu")):
        return
    lines = [line.partition("//")[0] for line in (root / file).read_text().splitlines()]
    for number, line in enumerate(lines, 1):
        found = USING_DECLARATION.match(line)
        if found and len(re.findall(rf"\b{found.group(1)}\b", "\n".join(lines))) == 1:
            yield f"{file}:{number}: nothing here uses {found.group(1)}"


def types_of(root, file):
    """Names, with their namespaces, of the types that a file defines for all: not within another, nor unnamed ones."""
    within = []
    for number, line in enumerate((root / file).read_text().splitlines(), 1):
        if found := NAMESPACE.match(line):
            within.append(found.group(1))
        elif line.startswith("}  // namespace") and within:
            within.pop()
        elif (found := TYPE.match(line)) and None not in within:
            yield number, "::".join([*within, found.group(1)])


def check_types(root, files):
    """Of two types with one name, whose members a program takes is the linker's choice. A test is a program of its own."""
    defined = {}
    for file in files:
        if file.startswith("tests/"):
            continue
        for number, name in types_of(root, file):
            if name in defined:
                yield f"{file}:{number}: {name} is defined in {defined[name]} too"
            defined.setdefault(name, f"{file}:{number}")


def component(file):
    """A header and its source are one thing: a circle between two such pairs is a circle."""
    return file.rpartition(".")[0]


def find_circle(graph):
    state, path = {}, []

    def visit(node):
        state[node] = "open"
        path.append(node)
        for target in sorted(graph.get(node, ())):
            if state.get(target) == "open":
                return path[path.index(target):] + [target]
            if target not in state:
                circle = visit(target)
                if circle:
                    return circle
        state[node] = "done"
        path.pop()
        return None

    for node in sorted(graph):
        if node not in state:
            circle = visit(node)
            if circle:
                return circle
    return None


def takes_a_standard_name(file):
    """A script's folder comes first on its path: beside a statistics.py, PyTorch would import that for Python's."""
    path = Path(file)
    name = path.parent.name if path.name == "__init__.py" else path.stem
    return path.suffix == ".py" and name in sys.stdlib_module_names


def files_of(root):
    paths = [p for folder in FOLDERS for p in sorted((root / folder).rglob("*")) if p.is_file()]
    paths += [p for p in sorted((root / "ci").rglob("*")) if p.is_file()]
    return paths, {str(p.relative_to(root)) for p in paths if p.suffix in SOURCE_SUFFIXES}


def room_of(rules, file):
    """The longest folder with a rule. A single file with a rule of its own is part of its folder's room."""
    folder = file.rpartition("/")[0]
    while folder and folder not in rules.folders:
        folder = folder.rpartition("/")[0]
    return folder or None


def arrows_of(root, rules, files):
    """By room, the rooms whose headers its files include. Tests are above all and left out."""
    arrows = {}
    for file in sorted(files):
        if file.startswith("tests/") or room_of(rules, file) is None:
            continue
        below = arrows.setdefault(room_of(rules, file), set())
        below.update(room_of(rules, own) for _, own, _ in read_includes(root, file) if own in files)
    return {room: below - {room, None} for room, below in arrows.items()}


def check_table(root, rules, files):
    """ARCHITECTURE.md has the rooms as they are."""
    document = root / "ARCHITECTURE.md"
    shown = rooms.block_of(document.read_text()) if document.exists() else None
    arrows = arrows_of(root, rules, files)
    circle = find_circle(arrows)
    if circle:
        yield f"a circle of rooms: {' -> '.join(circle)}"
    elif shown is not None and shown != rooms.table(arrows):
        yield "ARCHITECTURE.md: its rooms are not those of the tree; run ci/check_includes.py --table --write"


def check(root):
    rules = Rules(root / "ci" / "include_rules.txt")
    paths, files = files_of(root)
    graph = {}
    for file in sorted(files):
        yield from check_printing(root, file)
        yield from check_usings(root, file)
        for number, own, foreign in read_includes(root, file):
            yield from check_reserved(rules, file, number, foreign, own)
            if foreign:
                continue
            yield from check_own(rules, files, file, number, own)
            if own in files and component(own) != component(file):
                graph.setdefault(component(file), set()).add(component(own))
    yield from check_types(root, sorted(files))
    circle = find_circle(graph)
    if circle:
        yield f"a circle of includes: {' -> '.join(circle)}"
    yield from check_table(root, rules, files)
    for path in paths:
        if takes_a_standard_name(path):
            yield f"{path.relative_to(root)}: Python has a module of this name, which scripts beside it would not find"
        if path.suffix in SOURCE_SUFFIXES | SCRIPT_SUFFIXES:
            lines = path.read_text().count("\n")
            if lines > MAX_LINES:
                yield f"{path.relative_to(root)}: {lines} lines; split it (at most {MAX_LINES})"


def print_table(root, write):
    rules, (_, files) = Rules(root / "ci" / "include_rules.txt"), files_of(root)
    text = rooms.table(arrows_of(root, rules, files))
    if write:
        rooms.write(root / "ARCHITECTURE.md", text)
    print(text, rooms.sizes(root, files, FOLDERS), sep="\n\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.table:
        print_table(options.root, options.write)
        return 0
    violations = list(check(options.root))
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
