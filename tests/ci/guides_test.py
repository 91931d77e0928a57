"""ci/guides.py: what it takes from a guide, and what it says of a command that does not end as the guide says.

usage: guides_test.py REPOSITORY
"""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop()) / "ci"))
sys.dont_write_bytecode = True

import guides  # noqa: E402
from guides import Command, File  # noqa: E402

GUIDE = """# A guide

```yaml
# file: sub/mine.yaml
name: mine
```

Text, and `inline code`.

```
not a command
```

```sh
cat sub/mine.yaml     # what was written
# a remark

./perfbench one \\
  two                 # exit 2: why
```

```yaml
name: no file
```
"""


def steps_of(text):
    return list(guides.steps(text, "g.md"))


class Parser(unittest.TestCase):
    def test_takes_files_and_commands_in_their_order_and_with_their_lines(self):
        self.assertEqual(steps_of(GUIDE), [
            File(4, "sub/mine.yaml", "name: mine\n"),
            Command(15, "cat sub/mine.yaml     # what was written", 0),
            Command(18, "./perfbench one   two                 # exit 2: why", 2)])

    def test_refuses_a_block_that_is_not_closed(self):
        with self.assertRaisesRegex(guides.GuideError, r"^g\.md:2: this block is not closed"):
            steps_of("text\n```sh\ntrue\n")

    def test_refuses_a_command_that_does_not_end(self):
        with self.assertRaisesRegex(guides.GuideError, r"^g\.md:3: the last line"):
            steps_of("\n```sh\ntrue \\\n```\n")

    def test_refuses_a_file_inside_a_command(self):
        with self.assertRaisesRegex(guides.GuideError, r"^g\.md:2: a file is given by a block of its own"):
            steps_of("```sh\ncat <<EOF\nEOF\n```\n")


class Runner(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        fake = self.folder / "perfbench"
        fake.write_text('#!/bin/sh\necho "fake $*"\nexit "$1"\n')
        fake.chmod(0o755)

    def tearDown(self):
        self.scratch.cleanup()

    def follow(self, *texts):
        """The exit code and what was printed."""
        paths = []
        for number, text in enumerate(texts):
            paths.append(self.folder / f"{number}.md")
            paths[-1].write_text(text)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = guides.main(self.folder, paths)
        return code, out.getvalue()

    def test_finds_the_built_perfbench_by_both_names(self):
        code, text = self.follow("```sh\nperfbench 0 a | grep 'fake 0 a'\n./perfbench 0 b | grep 'fake 0 b'\n```\n")
        self.assertEqual(code, 0, text)

    def test_shows_what_ended_otherwise_with_its_place_and_output(self):
        code, text = self.follow("```sh\nperfbench 3 # exit 2\nperfbench 0 later\n```\n")
        self.assertEqual(code, 1)
        self.assertIn("0.md:2: `perfbench 3 # exit 2` ended with 3, expected 2:\nfake 3\n", text)
        self.assertNotIn("later", text)

    def test_a_failure_in_a_pipe_is_one(self):
        self.assertEqual(self.follow("```sh\nperfbench 1 | cat\n```\n")[0], 1)

    def test_gives_every_guide_a_folder_of_its_own(self):
        write = "```yaml\n# file: m.yaml\nname: m\n```\n```sh\ntest -e m.yaml\n```\n"
        code, text = self.follow(write, "```sh\ntest -e m.yaml\n```\n")
        self.assertEqual(code, 1)
        self.assertIn("1.md:2", text)
        self.assertNotIn("0.md:6: `", text)

    def test_follows_the_other_guides_after_one_that_is_wrong(self):
        code, text = self.follow("```sh\n", "```sh\nperfbench 0\n```\n")
        self.assertEqual(code, 1)
        self.assertIn("0.md:1: this block is not closed", text)
        self.assertIn("1.md:2:", text)


unittest.main()
