#!/usr/bin/env python3
"""Finds tests that cannot fail: those that neither assert nor call a function of the tests that does.

usage: check_tests.py [FOLDER]     the folder with the tests; tests/ of this repository unless given
"""
import re
import sys
from pathlib import Path

TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)\s*\{", re.MULTILINE)
NAME = re.compile(r"\b(\w+)(?: = \[|\()")  # of a function, or of a lambda
ASSERTS = "(an assertion)"  # stands for them among the names that are called
NO_FUNCTION = re.compile(r"^\s*(?:if|for|while|switch|do|else|return|TEST\w*)\b")
ASSERTION = re.compile(r"\b(?:EXPECT|ASSERT)_\w+\(|\b(?:FAIL|ADD_FAILURE|GTEST_FAIL)\(")
CALL = re.compile(r"\b(\w+)(?:<[^<>;]*>)?\(")


def body(text, start, indent=""):
    """From `start`, behind the brace that opens a function, to the brace in the column where the function begins."""
    end = text.find(f"\n{indent}}}", start)
    return text[start:] if end < 0 else text[start:end]


def functions(text):
    """Names of functions, methods and lambdas with their bodies."""
    begin = at = 0  # of a declaration, which may have several lines, and of the line
    for line in text.splitlines(keepends=True):
        code = line.rstrip()
        after = at + len(line)
        head = text[begin:at] + code
        if code.endswith("{") and (name := NAME.search(head)) and not NO_FUNCTION.match(head):
            yield name.group(1), body(text, at + len(code), re.match(" *", text[begin:]).group())
        elif "{" in code and code.endswith(("}", "};")) and (name := NAME.search(head)) and not NO_FUNCTION.match(head):
            yield name.group(1), code[code.index("{"):]
        if code.endswith((";", "{", "}", ":")) or not code or code.lstrip().startswith(("#", "//")):
            begin = after
        at = after


def asserting(calls):
    """The names of functions that assert, themselves or through another one. `calls`: names with what they call."""
    found = {ASSERTS}
    while True:
        more = {name for name, called in calls if name not in found and found & called}
        if not more:
            return found
        found |= more


def called_in(text):
    return {*CALL.findall(text), *([ASSERTS] if ASSERTION.search(text) else [])}


def calls_of(file):
    return [(name, called_in(text)) for name, text in functions(file.read_text())]


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent / "tests"
    shared = [call for file in folder.rglob("*.h") for call in calls_of(file)]
    shared += [call for file in folder.rglob("*.cpp") if not file.stem.endswith("_test") for call in calls_of(file)]
    failures = tests = 0
    for file in sorted(folder.rglob("*_test.cpp")):
        text = file.read_text()
        names = asserting(shared + calls_of(file))
        for match in TEST.finditer(text):
            tests += 1
            if not names & called_in(body(text, match.end())):
                line = text.count("\n", 0, match.start()) + 1
                print(f"{file}:{line}: {match.group(1)}.{match.group(2)} asserts nothing, so it cannot fail")
                failures += 1
    print(f"{tests} tests, {failures} that cannot fail")
    return 1 if failures or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
