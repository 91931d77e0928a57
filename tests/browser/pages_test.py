"""Pages of real runs in headless Chromium: what is seen, clicked and typed there."""
import csv
import io
import json
import sys
import tempfile
import time
import unittest
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser
import program
from program import HOSTILE, QUICKSTART, perfbench


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.db = Path(cls.folder.name) / "pages.db"
        perfbench("sweep", QUICKSTART, "--db", cls.db, "--only", "model=gpt-mini")
        perfbench("note", "latest", HOSTILE, "--author", HOSTILE, "--db", cls.db)
        cls.driver = browser.start()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def page(self, *command, name="page", driver=None):
        file = Path(self.folder.name) / f"{name}.html"
        perfbench(*command, "--db", self.db, "--format", "html", "-o", file)
        return browser.Page(driver or self.driver, file)

    def picture(self, page, name):
        browser.picture(page.driver, program.SCREENSHOTS / f"{name}.png")

    def column(self, page, key):
        """The texts of a shown column, from the top."""
        keys = page.run("return [...document.querySelectorAll('thead th')].map((h) => h.dataset.key)")
        return page.texts(f"tbody tr:not(.gap) td:nth-child({keys.index(key) + 1})")

    def test_every_command_has_a_page_that_does_no_wrong(self):
        nights = program.demonstration(Path(self.folder.name) / "demonstration")
        files = {name: Path(self.folder.name) / f"{name}.html" for name in (
            "plan", "explanation", "history", "trace", "difference")}
        files["night"] = nights.parent / "night.html"
        perfbench("plan", QUICKSTART, "--format", "csv", "--html", files["plan"])
        cell = next(csv.DictReader(io.StringIO(perfbench("plan", QUICKSTART, "--format", "csv"))))["cell"]
        perfbench("plan", QUICKSTART, "--explain", cell, "--html", files["explanation"])
        self.assertIn("| gpt-mini flash none", (nights.parent / "summary.md").read_text())
        perfbench("history", "--db", nights, "--html", files["history"], exits=(0, 2))
        traced = Path(self.folder.name) / "traced.db"
        perfbench("sweep", QUICKSTART, "--db", traced, "--only", "model=gpt-mini", "--only", "remat=full", "--set",
                  "trace_steps=2")
        run, other = sorted(traced.with_suffix(".runs").iterdir())[:2]
        perfbench("trace", run, "--html", files["trace"])
        perfbench("trace", run, "--against", other, "--html", files["difference"])
        for name in [*files, "report", "list", "show"]:
            page = browser.Page(self.driver, files[name]) if name in files else self.page(
                *{"report": ("report",), "list": ("list",), "show": ("show", "latest")}[name], name=name)
            self.assertEqual(page.misdeeds(), [], name)
            self.assertTrue(page.texts("h1, h2, h3, table"), name)
            self.assertEqual(page.run(browser.NAMELESS), [], name)
            self.picture(page, name)
        charts = {"report": ["scaling_"], "show": ["step_times", "memory_course"], "history": ["series_", "score_"],
                  "night": ["series_"], "difference": ["waterfall", "delay", "both"], "trace": ["parts", "timeline"],
                  "explanation": ["stages", "memory_course"]}
        for name, keys in charts.items():
            page = browser.Page(self.driver, files.get(name, Path(self.folder.name) / f"{name}.html"))
            for key in keys:
                self.assertTrue(page.texts(f"figure[data-key^={key}]"), f"{name} {key}")

    def test_a_timeline_is_zoomed_and_says_what_is_pointed_at(self):
        traced = Path(self.folder.name) / "zoomed.db"
        perfbench("sweep", QUICKSTART, "--db", traced, "--only", "model=gpt-mini", "--only",
                  "remat=none", "--only", "attention=flash", "--set", "trace_steps=1")
        file = Path(self.folder.name) / "timeline.html"
        perfbench("trace", next(traced.with_suffix(".runs").iterdir()), "--html", file)
        page = browser.Page(self.driver, file)
        self.assertLessEqual({"gemm", "attention", "phase"}, set(page.texts("figure.timeline .kinds li")))
        canvas = page.driver.find_element(By.TAG_NAME, "canvas")
        pixels = "const c = document.querySelector('canvas'); return c.toDataURL();"
        whole = page.run(pixels)
        canvas.send_keys("+")
        zoomed = page.run(pixels)
        self.assertNotEqual(zoomed, whole)
        canvas.send_keys(Keys.ARROW_RIGHT)
        self.assertNotEqual(page.run(pixels), zoomed)
        canvas.send_keys("0")
        self.assertEqual(page.run(pixels), whole)
        search = page.driver.find_element(By.CSS_SELECTOR, "figure.timeline input")
        search.send_keys("MATMUL")
        self.assertRegex(page.texts("figure.timeline [role=status]")[0], r"^[1-9][0-9]* spans, [0-9.]+ us in all$")
        found = page.run(pixels)
        self.assertNotEqual(found, whole, "other names are pale")
        search.send_keys(Keys.ENTER)
        first = page.run(pixels)
        self.assertNotEqual(first, found, "the first one is shown closely")
        search.send_keys(Keys.ENTER)
        self.assertNotEqual(page.run(pixels), first, "and then the next one")
        search.clear()
        search.send_keys("no such name")
        self.assertEqual(page.texts("figure.timeline [role=status]"), ["0 spans, 0.0 us in all"])
        search.clear()
        search.send_keys(" ")
        canvas.send_keys("0")
        self.assertEqual(page.run(pixels), whole, "no search")
        # Rows of 18 behind a scale of 18 and a lane title of 20: the first row, in its middle.
        page.run("""
            const canvas = document.querySelector("canvas");
            const box = canvas.getBoundingClientRect();
            canvas.dispatchEvent(new PointerEvent("pointermove", {
              clientX: box.left + box.width / 2, clientY: box.top + 47, bubbles: true }));
        """)
        self.assertRegex(page.texts("figure.timeline [role=status]")[0], r"^[a-z_ ]+ \([a-z_]+\): [0-9.]+ us, from ")
        self.assertEqual(page.misdeeds(), [])

    def test_a_chart_shows_the_values_at_the_pointer_and_zooms(self):
        page = self.page("show", "latest")
        page.run("""
            window.at = (type, share) => {
              const svg = document.querySelector("figure[data-key=step_times] svg");
              const data = svg.querySelector("svg.data").getAttribute("viewBox") && svg.querySelector("svg.data");
              const box = svg.getBoundingClientRect(), scale = box.width / svg.viewBox.baseVal.width;
              const [left, width] = ["x", "width"].map((name) => Number(data.getAttribute(name)) * scale);
              svg.dispatchEvent(new PointerEvent(type, { clientX: box.left + left + share * width, button: 0, pointerId: 1,
                                                         clientY: box.top + 100 * scale, bubbles: true }));
            };
            SVGElement.prototype.setPointerCapture = () => {};  // a made-up pointer cannot be captured
            window.at("pointermove", 1);
        """)
        readout = "figure[data-key=step_times] .readout"
        self.assertRegex(page.texts(readout)[0], r"^time, step: 11, step time \(ms\): [0-9.]+$")
        page.run("window.at('pointermove', 0.01)")
        self.assertRegex(page.texts(readout)[0], r"^time, step: 0, ")
        ticks = "figure[data-key=step_times] svg text.tick[visibility]"
        visible = "return [...document.querySelectorAll(arguments[0])].filter((e) => e.getAttribute('visibility') !== 'hidden').length"
        self.assertGreater(page.run(visible, ticks), 3)
        page.run("window.at('pointerdown', 0.5); window.at('pointermove', 1); window.at('pointerup', 1)")
        self.assertEqual(page.run(visible, ticks), 0, "the ticks of the whole axis have gone")
        overflow = "return getComputedStyle(document.querySelector('figure[data-key=step_times] svg.data')).overflowX"
        self.assertEqual(page.run(overflow), "hidden", "what is outside of the axes is cut off")
        page.run("window.at('pointermove', 0.01)")
        self.assertRegex(page.texts(readout)[0], r"^time, step: 6, ", "half of the steps are left")
        page.driver.find_element(By.CSS_SELECTOR, "figure[data-key=step_times] figcaption button").click()
        self.assertGreater(page.run(visible, ticks), 3)
        page.run("window.at('pointermove', 0.01)")
        self.assertRegex(page.texts(readout)[0], r"^time, step: 0, ")
        self.assertEqual(page.misdeeds(), [])

    def test_details_are_folded_and_open_with_a_click(self):
        page = self.page("show", "latest")
        sections = page.driver.find_elements(By.CSS_SELECTOR, "details.section")
        self.assertEqual([section.text for section in sections], ["Configuration", "Environment"])
        self.assertFalse(page.run("return document.querySelector('section[data-key=configuration]').checkVisibility()"))
        sections[0].find_element(By.TAG_NAME, "summary").click()
        self.assertTrue(page.run("return document.querySelector('section[data-key=configuration]').checkVisibility()"))

    def test_the_page_says_what_the_table_says(self):
        page = self.page("report")
        rows = json.loads(perfbench("report", "--db", self.db, "--format", "json"))["rows"]
        self.assertEqual(len(page.texts("tbody tr")), len(rows))
        self.assertIn("Step Time (ms)", page.texts("thead th"))
        seen = [float(text) for text in self.column(page, "step_time_s")]
        for row in rows:
            expected_ms = 1000 * row["step_time_s"]
            self.assertTrue(any(abs(one - expected_ms) <= 6e-4 * one for one in seen), expected_ms)

    def test_a_click_sorts_by_number_and_another_turns_it(self):
        page = self.page("report")
        button = page.driver.find_element(By.CSS_SELECTOR, "th[data-key=step_time_s] button")
        button.click()
        up = [float(text) for text in self.column(page, "step_time_s")]
        self.assertEqual(up, sorted(up))
        header = "th[data-key=step_time_s]"
        self.assertEqual(page.driver.find_element(By.CSS_SELECTOR, header).get_attribute("aria-sort"), "ascending")
        # By the keyboard alone: the button that was used still has the focus.
        page.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.assertEqual([float(text) for text in self.column(page, "step_time_s")], up[::-1])
        self.assertEqual(page.driver.find_element(By.CSS_SELECTOR, header).get_attribute("aria-sort"), "descending")

    def test_settings_that_all_rows_share_stand_above_the_table(self):
        page = self.page("report")
        told = dict(zip(page.texts("dl.common dt"), page.texts("dl.common dd")))
        self.assertEqual(told["Precision"], "FP32")
        self.assertNotIn("Step Time (ms)", told)
        titles = page.texts("thead th")
        self.assertNotIn("Precision", titles)
        self.assertIn("Attention", titles)
        # The answer is in sight without scrolling on a screen of 1280 pixels.
        right = page.run("return document.querySelector('th[data-key=mfu_fraction]').getBoundingClientRect().right")
        self.assertLessEqual(right, page.run("return document.querySelector('.scroll').getBoundingClientRect().right"))

    def test_words_filter_and_columns_are_chosen(self):
        page = self.page("report")
        everything = len(page.texts("tbody tr"))
        field = page.driver.find_element(By.CSS_SELECTOR, "input[type=search]")
        field.send_keys("FLASH")
        self.assertEqual(set(self.column(page, "attention")), {"flash"})
        left = len(page.texts("tbody tr"))
        self.assertLess(left, everything)
        self.assertEqual(page.texts(".count")[0], f"{left} of {everything} rows")
        field.send_keys(" no-such-word")
        self.assertEqual(page.texts("tbody tr"), [])
        field.clear()
        field.send_keys(Keys.SPACE)
        shown = page.texts("thead th")
        page.driver.find_element(By.CSS_SELECTOR, "details.columns summary").click()
        box = page.driver.find_element(By.CSS_SELECTOR, "details.columns input:checked")
        box.click()
        self.assertEqual(page.texts("thead th"), shown[1:])
        box.click()
        self.assertEqual(page.texts("thead th"), shown)

    def test_text_has_contrast_in_light_and_dark(self):
        for scheme in ("light", "dark"):
            driver = browser.start(scheme=scheme)
            try:
                for command in (("report",), ("show", "latest")):
                    page = self.page(*command, name=command[0], driver=driver)
                    self.assertEqual(page.run(browser.CONTRAST), [], scheme)
                    self.picture(page, f"{command[0]}-{scheme}")
                paper = "return getComputedStyle(document.body).backgroundColor"
                before = page.run(paper)
                other = {"light": "dark", "dark": "light"}[scheme]
                button = driver.find_element(By.ID, "theme")
                while not button.text.endswith(other):
                    button.click()
                self.assertNotEqual(page.run(paper), before)
                self.assertEqual(page.run(browser.CONTRAST), [], f"{scheme}, turned {other}")
            finally:
                driver.quit()

    def test_a_phone_scrolls_tables_and_not_the_page(self):
        driver = browser.start(width=360, height=700)
        try:
            for command in (("report",), ("show", "latest")):
                page = self.page(*command, name=command[0], driver=driver)
                widths = page.run("return [document.documentElement.scrollWidth, window.innerWidth]")
                self.assertLessEqual(widths[0], widths[1], command)
                self.picture(page, f"{command[0]}-phone")
        finally:
            driver.quit()

    def test_names_that_want_to_be_markup_are_text(self):
        page = self.page("show", "latest", name="hostile")
        self.assertEqual(page.misdeeds(), [])
        self.assertNotIn("taken", page.driver.title)
        self.assertEqual(page.run("return document.querySelectorAll('img, iframe, object, script[src]').length"), 0)
        self.assertEqual(page.run("return document.scripts.length"), 2)
        text = page.run("return document.getElementById('content').textContent")
        self.assertIn("</script><script>document.title='taken'</script>", text)
        self.assertIn("\\u202egnp.exe\\x1b[31m", text)
        self.assertNotIn("\u202e", text)

    def test_the_policy_lets_nothing_else_run(self):
        page = self.page("report")
        page.run("""
            const script = document.createElement("script");
            script.textContent = "document.title = 'taken'";
            document.body.append(script);
            const image = document.createElement("img");
            image.src = "https://example.invalid/a.png";
            document.body.append(image);
        """)
        self.assertNotIn("taken", page.driver.title)
        refused = " ".join(entry["message"] for entry in page.driver.get_log("browser"))
        self.assertIn("Content Security Policy", refused)
        self.assertNotIn("ERR_NAME_NOT_RESOLVED", refused)

    def test_of_ten_thousand_rows_only_those_in_sight_are_elements(self):
        file = Path(self.folder.name) / "report.html"
        perfbench("report", "--db", self.db, "--format", "html", "-o", file)

        def shuffle(column):
            if column["key"] == "step_time_s":
                column["values"] = [(7919 * row % 10_000) / 1000 for row in range(10_000)]
                column["texts"] = [f"{value:.3f}" for value in column["values"]]
                column["of"] = list(range(10_000))

        long = Path(self.folder.name) / "long.html"
        program.long_page(file, long, shuffle)
        begin = time.monotonic()
        page = browser.Page(self.driver, long)
        rows = page.texts("tbody tr:not(.gap)")
        print(f"10,000 rows of {long.stat().st_size / 1e6:.2f} MB opened in {time.monotonic() - begin:.2f} s",
              file=sys.stderr)
        self.assertEqual(page.misdeeds(), [])
        self.assertLess(len(rows), 150)
        page.driver.find_element(By.CSS_SELECTOR, "th[data-key=step_time_s] button").click()
        self.assertEqual(self.column(page, "step_time_s")[0], "0.000")
        page.run("const s = document.querySelector('.scroll'); s.scrollTop = s.scrollHeight;")
        last = "return document.querySelector('tbody tr:nth-last-child(2)')?.getAttribute('aria-rowindex')"
        page.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        self.assertEqual(page.run(last), "10001")
        self.assertEqual(self.column(page, "step_time_s")[-1], "9.999")
        self.picture(page, "long")
