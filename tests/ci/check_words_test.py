"""ci/check_words.py: the shapes, files and links that it finds, and the ones that it accepts.

usage: check_words_test.py REPOSITORY
"""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(sys.argv.pop()) / "ci"))
sys.dont_write_bytecode = True

import check_words  # noqa: E402

NAMES = ["engine/ops/ops.h", "harness/cli/main.cpp"]


class CheckWords(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def found(self, name, text, rules=check_words.RULES):
        path = self.folder / name
        path.write_text(text)
        return [(line, advice.split(":")[0]) for line, advice, _ in check_words.findings(path, NAMES, rules)]

    def test_plain_english_is_accepted(self):
        text = "# Rules\n\nThe server returns its previous version.\n\n- **Limits.** Does it fit? What fits?\n"
        self.assertEqual(self.found("a.md", text), [])

    def test_a_headless_sentence_is_found_with_its_line(self):
        self.assertEqual(self.found("a.md", "Fine.\n\nWho asks waits. Of these one stays.\n"),
                         [(3, 'begins with "Who"'), (3, 'begins with "Of"')])

    def test_a_sentence_begins_after_bold_text_and_in_each_cell_of_a_table(self):
        self.assertEqual(self.found("a.md", "- **Limits.** Of these one stays.\n\n| a | Of these |\n"),
                         [(1, 'begins with "Of"'), (3, 'begins with "Of"')])

    def test_blocks_of_code_are_skipped(self):
        self.assertEqual(self.found("a.md", "```\nWho asks waits. [a](gone.md)\n```\n\n    Of these one stays.\n"), [])

    def test_a_long_sentence_of_a_document_is_found(self):
        self.assertEqual(self.found("a.md", "word " * 41 + "\n"), [(1, "41 words")])
        self.assertEqual(self.found("a.cpp", "// " + "word " * 41 + "\n"), [])

    def test_comments_messages_and_test_names_of_sources_are_read(self):
        text = '// It is none.\nauto a = "for who asks nothing";  // fine\nTEST(Server, WhoAsksWaits) {}\n'
        self.assertEqual(self.found("a.cpp", text),
                         [(1, '"is none"'), (2, 'headless "who"'), (3, 'begins with "Who"')])

    def test_a_file_that_a_comment_or_a_document_names_must_exist(self):
        self.assertEqual(self.found("a.cpp", "// See engine/ops/ops.h and gone.h.\n"), [(1, "names gone.h, which does not exist")])
        self.assertEqual(self.found("a.md", "See `ops.h`, `ops/gone.h`, `engine/gone.cpp`.\n"),
                         [(1, "names engine/gone.cpp, which does not exist")])

    def test_a_link_must_lead_to_a_file_and_a_heading(self):
        (self.folder / "b.md").write_text("# The first night\n\n```\n# no heading\n```\n")
        self.assertEqual(self.found("a.md", "## Here\n\n[b](b.md), [night](b.md#the-first-night), [here](#here), [x](https://x.org)\n"), [])
        self.assertEqual(self.found("a.md", "[gone](gone.md), [lost](b.md#no-heading), [c](#nowhere)\n"),
                         [(1, f"links to {target}, which does not exist") for target in ("gone.md", "b.md#no-heading", "#nowhere")])

    def test_strict_patterns_find_more(self):
        text = "It shows what runs: a table of what it has.\n"
        self.assertEqual(self.found("a.md", text), [])
        self.assertEqual(self.found("a.md", text, check_words.RULES + check_words.STRICT), [(1, 'headless "what"')])


unittest.main()
