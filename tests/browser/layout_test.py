"""The checks of a page's layout (layout.py) find what is wrong, and nothing in a page that is right."""
import tempfile
import unittest
from pathlib import Path

import browser
import layout

RIGHT = """<h1>Title</h1><p class="headline">SAME: 1 of 1 cell</p>
<div style="overflow-x: auto; width: 5rem"><div style="width: 90rem">a wide table that scrolls</div></div>
<svg viewBox="0 0 100 50" width="100"><text x="2" y="20" font-size="12">in</text></svg>"""

# By the addition that makes a right page wrong: the line that reports it.
WRONG = {
    "<div style='width: 200rem'>x</div>": "cut off: the page is 3216 pixels wide, the window 785",
    "<div style='overflow: hidden; width: 4rem; white-space: nowrap'>much too long for it</div>":
        'cut off: "much too long for it": cut off',
    "<svg viewBox='0 0 100 50' width='100'><text x='80' y='20' font-size='12'>beyond</text></svg>":
        'cut off: "beyond": 17 pixels outside of its chart',
    "<svg viewBox='0 0 100 50' width='100'><text x='2' y='20' font-size='12'>cut\u2026</text></svg>":
        'cut off: "cut\u2026": shortened',
    "<p style='position: relative'>first<span style='position: absolute; left: 0'>second</span></p>":
        'overlap: "first" over "second"',
    "<svg viewBox='0 0 200 50' width='100'><text x='2' y='20' font-size='12'>tiny</text></svg>":
        'small: text. "tiny": 6.0 pixels',
    "<p style='font-size: 11px'>fine print</p>": 'small: P. "fine print": 11.0 pixels',
    "<p style='color: #999; background: #fff'>pale</p>": 'contrast: P "pale": 2.85',
}


class Layout(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.driver = browser.start(width=800, height=600)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def faults(self, body):
        file = Path(self.folder.name) / "page.html"
        file.write_text(f"<!DOCTYPE html><meta charset='utf-8'><body style='font: 15px sans-serif'><main>{body}</main>")
        return layout.faults(browser.Page(self.driver, file), browser.CONTRAST)

    def test_a_page_that_is_right_has_no_fault(self):
        self.assertEqual(self.faults(RIGHT), [])

    def test_each_fault_is_found_and_named(self):
        for body, said in WRONG.items():
            with self.subTest(body):
                found = self.faults(RIGHT + body)
                kind = said.partition(":")[0]
                self.assertEqual([line.partition(":")[0] for line in found], [kind], found)
                # A digit that depends on the fonts of the machine does not matter.
                self.assertEqual(found[0].split()[:3], said.split()[:3])

    def test_an_answer_below_the_first_screen_is_found(self):
        self.assertEqual(self.faults("<div style='height: 50rem'></div>" + RIGHT)[0].split()[:4],
                         ["fold:", "the", "title", "ends"])
        self.assertEqual(self.faults("<div>text without a title or an answer</div>"),
                         ["fold: the page has no title", "fold: the page has no first answer"])
