"""Pages of the program in headless Chromium.

usage: python3 tests/browser PERFBENCH SCREENSHOTS [TEST ...]     the program, a folder for pictures
       a TEST is a file, a class or a function: serve_test, pages_test.Pages
"""
import sys
import unittest
from pathlib import Path

import program

if len(sys.argv) < 3:
    sys.exit(__doc__)
program.PATH, program.SCREENSHOTS = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
program.SCREENSHOTS.mkdir(parents=True, exist_ok=True)
tests = sys.argv[3:] or sorted(file.stem for file in Path(__file__).parent.glob("*_test.py"))
unittest.main(module=None, argv=[sys.argv[0], *tests], verbosity=2)
