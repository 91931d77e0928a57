"""ci/sources_alone.py: a source that only compiles beside its neighbours in a batch.

usage: sources_alone_test.py REPOSITORY
"""

import json
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop()) / "ci"))
sys.dont_write_bytecode = True

import sources_alone  # noqa: E402


class SourcesAlone(unittest.TestCase):
    def test_a_missing_include_is_found_that_the_batch_hides(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            (tree / "Unity").mkdir()
            sources = {"whole.cpp": "#include <string>\nstd::string whole();\n", "lacking.cpp": "std::string lacking();\n"}
            for name, text in sources.items():
                (tree / name).write_text(text)
            batch = tree / "Unity/unity_0.cxx"
            batch.write_text("".join(f'#include "{tree / name}"\n' for name in sources))
            command = f"ccache c++ -std=c++20 -MD -MT x.o -MF x.d -o x.o -c {batch}"
            (tree / "compile_commands.json").write_text(
                json.dumps([{"directory": folder, "file": str(batch), "command": command}]))
            found = sources_alone.commands(tree)
            self.assertEqual(set(found), {str(tree / name) for name in sources})
            self.assertEqual(sources_alone.complaint(*found[str(tree / "whole.cpp")]), "")
            self.assertIn("string", sources_alone.complaint(*found[str(tree / "lacking.cpp")]))
            self.assertEqual(list(tree.glob("x.*")), [], "no code is made")


if __name__ == "__main__":
    unittest.main()
