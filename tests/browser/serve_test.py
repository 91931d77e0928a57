"""A server's pages in headless Chromium, while a sweep writes to its database; and what it refuses."""
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import browser
import program
from program import ONE_CELL, PATIENCE_S, QUICKSTART, ROOT, Server, perfbench


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.db = Path(cls.folder.name) / "served.db"
        perfbench("sweep", QUICKSTART, *ONE_CELL, "--db", cls.db)
        cls.driver = browser.start()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def open(self, address):
        browser.open_address(self.driver, address)

    def wait(self, condition):
        WebDriverWait(self.driver, PATIENCE_S).until(lambda driver: condition())

    def texts(self, selector):
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def runs_of(self, db):
        rows = perfbench("list", "--db", db, "--format", "csv").splitlines()[1:]
        return [row.split(",")[0][:12] for row in rows]

    def expect_command(self, db, name):
        """The page shows a command of this name, which works."""
        facts = dict(zip(self.texts("dl.origin dt"), self.texts("dl.origin dd")))
        words = shlex.split(facts["Command"].replace(db.name, str(db)))
        self.assertEqual(words[:2], ["perfbench", name])
        self.assertTrue(perfbench(*words[1:]))

    def expect_harmless(self, server):
        self.assertEqual(browser.errors_since(self.driver), [])
        self.assertEqual(browser.asked_of_others(self.driver, server.url), [])

    def test_pages_lead_to_each_other(self):
        server = Server(self.db)
        try:
            self.open(server.url)
            self.assertEqual(self.texts("#places a"), ["Overview", "Report", "Runs", "History", "Alerts"])
            browser.picture(self.driver, program.SCREENSHOTS / "overview.png")
            for place in ("Report", "Runs", "History", "Alerts", "Overview"):
                self.driver.find_element(By.LINK_TEXT, place).click()
                self.assertEqual(self.texts("#places a[aria-current=page]"), [place])
                self.assertTrue(self.texts("h1, h2"), place)
                self.assertEqual(self.driver.execute_script(browser.CONTRAST), [], place)
            run = self.driver.find_element(By.CSS_SELECTOR, "section[data-key=runs] td a[href^='/run/']")
            name = run.text
            run.click()
            self.assertEqual(self.texts("h1"), [f"Run {name}"])
            for chart in ("step_times", "memory_course"):
                self.assertTrue(self.texts(f"figure[data-key={chart}]"), chart)
            self.assertTrue(self.texts("section[data-key=tensors] tbody tr"))
            said = " ".join(self.texts("main p"))
            self.assertIn(f"perfbench reproduce {name} --db ", said)
            self.assertNotIn("not what this engine counts", said)  # the counts equal the recorded ones
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)

    def test_what_a_sweep_adds_appears_and_the_table_stays_as_it_was_sorted(self):
        server = Server(self.db)
        try:
            self.open(server.url + "runs")
            rows = len(self.texts("section[data-key=runs] tbody tr"))
            header = "section[data-key=runs] th[data-key=cell]"
            self.driver.find_element(By.CSS_SELECTOR, header + " button").click()
            self.driver.execute_script("window.untouched = true")
            perfbench("sweep", QUICKSTART, "--db", self.db, "--only", "model=gpt-mini", "--only",
                      "attention=dot_product", "--only", "remat=none")
            self.wait(lambda: len(self.texts("section[data-key=runs] tbody tr")) > rows)
            self.assertTrue(self.driver.execute_script("return window.untouched === true"), "it was loaded again")
            element = self.driver.find_element(By.CSS_SELECTOR, header)
            self.assertEqual(element.get_attribute("aria-sort"), "ascending")
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)

    def test_a_small_chart_leads_to_its_large_one_and_a_new_night_keeps_the_place(self):
        nights = program.imported_nights(Path(self.folder.name) / "benchmarks", series=8, nights=12)
        later = program.imported_nights(Path(self.folder.name) / "later", series=8, nights=13).parent / "night12.json"
        in_sight = """const box = document.getElementById(arguments[0]).getBoundingClientRect();
                      return box.height > 0 && box.top < innerHeight && box.bottom > 0"""
        folded = "return document.getElementById(arguments[0].hash.slice(1)).closest('details') !== null"
        server = Server(nights)
        try:
            self.open(server.url + "history")
            self.expect_command(nights, "history")
            links = self.driver.find_elements(By.CSS_SELECTOR, ".small-charts a")
            self.assertEqual(len(links), 8)
            quiet = next(link for link in links if self.driver.execute_script(folded, link))
            large = quiet.get_attribute("href").partition("#")[2]
            self.assertFalse(self.driver.execute_script(in_sight, large))
            quiet.click()
            self.wait(lambda: self.driver.execute_script(in_sight, large))
            before = self.driver.execute_script("window.untouched = true; return scrollY")
            shown = self.texts("main")
            perfbench("import", "--format", "google-benchmark", "--db", nights, later)
            self.wait(lambda: self.texts("main") != shown)
            self.assertTrue(self.driver.execute_script("return window.untouched === true"), "it was loaded again")
            self.assertTrue(self.driver.execute_script(in_sight, large), "the section was folded")
            self.assertLess(abs(self.driver.execute_script("return scrollY") - before), 200)
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)

    def test_choices_and_the_view_of_a_table_are_in_the_address(self):
        chosen = Path(self.folder.name) / "chosen.db"
        perfbench("sweep", QUICKSTART, "--db", chosen, "--only", "model=gpt-mini", "--only", "attention=flash")
        perfbench("baseline", "set", "first", "--reason", "a test", "--author", "me", "--db", chosen)
        server = Server(chosen)
        rows = "section[data-key=table] tbody tr"
        try:
            self.open(server.url + "report")
            self.assertEqual(len(self.texts(rows)), 3)
            for name, text, left in (("sort", "mfu", 3), ("best", "2", 2)):
                self.driver.find_element(By.CSS_SELECTOR, f"#controls input[name={name}]").send_keys(text, Keys.ENTER)
                self.wait(lambda: f"{name}={text}" in self.driver.current_url and len(self.texts(rows)) == left)
            self.assertIn("best=2", self.driver.current_url)
            choice = self.driver.find_element(By.CSS_SELECTOR, "#controls select[name=baseline]")
            self.assertEqual(choice.text.split(), ["default", "first"])
            choice.send_keys("first")
            self.wait(lambda: "baseline=first" in self.driver.current_url and self.texts(rows))
            self.assertIn("best=2", self.driver.current_url, "the other choice stays")
            facts = dict(zip(self.texts("dl.origin dt"), self.texts("dl.origin dd")))
            self.assertEqual(facts["Command"], "perfbench report --db chosen.db --baseline first --sort mfu --best 2")
            self.assertIn("difference from baseline", self.texts("thead th"))
            header = "section[data-key=table] th[data-key=step_time_s]"
            self.driver.find_element(By.CSS_SELECTOR, header + " button").click()
            link = self.driver.current_url
            sorted_rows = self.texts(rows)
            self.open("about:blank")
            self.open(link)
            self.assertEqual(self.texts(rows), sorted_rows)
            element = self.driver.find_element(By.CSS_SELECTOR, header)
            self.assertEqual(element.get_attribute("aria-sort"), "ascending", "a link shows what its sender saw")
            self.expect_harmless(server)
            self.assertEqual(server.ask("GET", "/report?best=-1")[0], 404)
            self.assertIn("exclude each other", server.ask("GET", "/report?style=pax&columns=mfu")[1])
            self.open(server.url + "report?view.table%20quickstart=%7B%22sort")
            self.assertEqual(len(self.texts(rows)), 3, "a damaged link shows the page as it is")
            self.open(server.url + "report?baseline=run:" + self.runs_of(chosen)[0])
            chosen_now = "return document.querySelector('#controls select[name=baseline]').value"
            self.assertTrue(self.driver.execute_script(chosen_now).startswith("run:"), "it is not among the names")
            self.assertIn("best needs sort", server.ask("GET", "/report?best=2")[1])
            self.assertIn("the report has no such column", server.ask("GET", "/report?sort=nothing")[1])
        finally:
            self.assertEqual(server.end(), 0)

    def test_two_runs_are_picked_and_held_side_by_side_and_so_are_their_traces(self):
        traced = Path(self.folder.name) / "traced.db"
        perfbench("sweep", QUICKSTART, "--db", traced, "--only", "model=gpt-mini", "--only",
                  "remat=full", "--set", "trace_steps=2")
        server = Server(traced)
        picks = "td.pick input"
        try:
            self.open(server.url + "runs")
            names = self.texts("section[data-key=runs] td a[href^='/run/']")
            sweep = self.texts("section[data-key=runs] td a[href^='/report?']")[0]
            boxes = self.driver.find_elements(By.CSS_SELECTOR, picks)
            self.assertEqual([box.accessible_name for box in boxes], ["Pick " + name for name in names])
            boxes[0].click()
            self.assertEqual(self.texts(".picks"), ["One is selected; select another one to compare it with."])
            boxes[2].send_keys(Keys.SPACE)
            boxes[1].send_keys(Keys.SPACE)  # the two last ones count
            self.assertEqual([box.is_selected() for box in boxes], [False, True, True])
            perfbench("sweep", QUICKSTART, *ONE_CELL, "--db", traced)
            # From here on by scripts: elements that are asked one by one may have been replaced by then.
            self.wait(lambda: len(self.texts(picks)) > len(names))
            ask = self.driver.execute_script
            self.assertEqual(ask("return document.activeElement.ariaLabel"), "Pick " + names[1])
            ask("document.querySelector('section[data-key=runs] th[data-key=cell] button').click()")
            self.assertEqual(ask("return document.activeElement.textContent"), "cell ▲")
            picked = ask("return [...document.querySelectorAll(arguments[0])].map((e) => e.ariaLabel)", picks + ":checked")
            self.assertCountEqual(picked, ["Pick " + names[1], "Pick " + names[2]])
            browser.picture(self.driver, program.SCREENSHOTS / "picked.png")
            ask("document.querySelector('.picks a').click()")
            self.wait(lambda: self.texts("h1") == [f"{names[2]} beside {names[1]}"])
            self.assertEqual(self.driver.execute_script(browser.CONTRAST), [])
            self.expect_command(traced, "diff")
            for box in self.driver.find_elements(By.CSS_SELECTOR, picks):
                box.click()
            self.driver.find_element(By.LINK_TEXT, "Hold the two side by side").click()
            (title,) = self.texts("h1")
            self.assertRegex(title, f"^B, attempt 1 of run {names[1]} .*, against A, attempt 1 of run {names[2]} ")
            for chart in ("waterfall", "delay", "both"):
                self.assertTrue(self.texts(f"figure[data-key={chart}]"), chart)
            browser.picture(self.driver, program.SCREENSHOTS / "traces.png")
            self.expect_command(traced, "trace")
            self.open(server.url + "run/" + names[0])
            self.driver.find_element(By.CSS_SELECTOR, "section[data-key=attempts] td a[href^='/trace/']").click()
            self.assertRegex(self.texts("h1")[0], f"^Traced steps of attempt 1 of run {names[0]} ")
            self.assertTrue(self.texts("figure.timeline"))
            self.expect_command(traced, "trace")
            self.assertEqual(self.driver.execute_script(browser.NAMELESS), [])
            self.expect_harmless(server)
            self.assertTrue(json.loads(server.ask("GET", f"/trace/{names[0]}/1?data")[1])["lasting"], "asked for once")
            self.assertNotIn("lasting", json.loads(server.ask("GET", f"/run/{names[0]}?data")[1]))
            self.assertEqual(server.ask("GET", "/trace/" + self.folder.name)[0], 404)
            self.open(server.url + "report?sweep=" + sweep)
            rows = "section[data-key=table] tbody tr"
            self.assertCountEqual(self.texts(rows + " a[href^='/run/']"), names)
            self.assertEqual(len(self.texts(f"{rows} {picks}")), len(names))
            self.open(server.url + "run/" + names[0])
            self.assertFalse(self.texts(picks), "one attempt, nothing to hold it against")
            (plain,) = set(self.runs_of(traced)) - set(names)
            self.open(f"{server.url}diff?left={names[0]}&right={plain}")
            self.assertEqual(len(self.texts("section[data-key=runs] tbody tr")), 2)
            self.assertFalse(self.texts(picks), "one of them was not traced")
        finally:
            self.assertEqual(server.end(), 0)

    def test_pairs_are_shown_as_the_command_shows_them(self):
        pairs, page = Path(self.folder.name) / "pairs.db", Path(self.folder.name) / "pairs.html"
        perfbench("compare", "--ab", "current", "set:attention=dot_product", QUICKSTART, *ONE_CELL,
                  "--pairs", "4", "--db", pairs, "--html", page, exits=(0, 1, 2))
        said = browser.Page(self.driver, page)
        self.assertEqual(said.misdeeds(), [])
        shown = {"rows": "section[data-key=cells] tbody tr", "charts": "figure figcaption"}
        said = {name: self.texts(selector) for name, selector in shown.items()}
        self.assertTrue(said["rows"])
        self.assertEqual(len(said["charts"]), 2, "estimates with their intervals, and pair by pair")
        server = Server(pairs)
        try:
            self.open(server.url)
            self.driver.find_element(By.CSS_SELECTOR, "section[data-key=sweeps] td a").click()
            self.assertTrue(self.texts("h1")[0].startswith("Comparison "))
            browser.picture(self.driver, program.SCREENSHOTS / "comparison.png")
            self.assertEqual(self.texts(shown["rows"]), said["rows"])
            self.assertLessEqual(set(said["charts"]), set(self.texts(shown["charts"])))
            self.assertEqual(self.driver.execute_script(browser.CONTRAST), [])
            # As a later version may leave it, and as it is during the comparison.
            connection = sqlite3.connect(pairs)
            connection.executescript("UPDATE ab_verdicts SET verdict = 'SOMEWHAT';")
            self.wait(lambda: "cannot be read" in self.texts("main")[0])
            self.assertEqual(len(self.texts("section[data-key=table] tbody tr")), 2, "its runs are there all the same")
            connection.executescript("DELETE FROM ab_verdicts; UPDATE ab_comparisons SET finished_utc = NULL;")
            self.wait(lambda: "The comparison is still running, or was interrupted" in self.texts("main")[0])
            self.assertFalse(self.texts(shown["rows"]))
            self.assertNotIn("INCONCLUSIVE", self.texts("main")[0])
            self.assertEqual(len(self.texts("figure[data-key^=pairs_]")), 1, "the pairs so far")
            connection.close()
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)

    def test_what_takes_long_to_make_shows_up_in_a_page_that_says_so(self):
        server = Server(self.db, patience_s=0)
        try:
            # A page of a small database may be ready before anybody can be told that it is not.
            pages = (server.ask("GET", f"/runs?limit={limit}") for limit in range(100, 1000))
            page, answer = next((page, answer) for status, page, answer in pages if status == 202)
            self.assertIn("takes long to make", page)
            self.assertEqual(answer.getheader("Cache-Control"), "no-store")
            self.assertIsNone(answer.getheader("ETag"))
            self.open(server.url + "runs?limit=7")
            self.wait(lambda: self.texts("section[data-key=runs] tbody tr"))
            self.assertEqual(self.texts("h1"), ["Runs"])
            self.open(server.url + "run/0123456789ab")
            self.wait(lambda: self.texts("h1") == ["Not found"])
            self.assertEqual(server.ask("GET", "/runs?limit=7")[0], 200, "it is there now")
        finally:
            self.assertEqual(server.end(), 0)

    def test_a_page_that_was_to_come_says_why_it_does_not(self):
        broken = Path(self.folder.name) / "broken.db"
        shutil.copy(self.db, broken)
        connection = sqlite3.connect(broken)
        connection.execute("DROP TABLE cell_axes")
        connection.close()
        server = Server(broken, patience_s=0)
        try:
            for limit in range(1, 1000):
                self.open(f"{server.url}runs?limit={limit}")
                if self.texts("main"):  # not the error itself, which may come before anybody can be told to wait
                    break
            self.wait(lambda: "no such table: cell_axes" in self.texts("main")[0])
        finally:
            self.assertEqual(server.end(), 0)

    def test_what_has_not_changed_is_not_sent_again(self):
        server = Server(self.db)
        try:
            _, _, answer = server.ask("GET", "/runs?data")
            again = server.ask("GET", "/runs?data", {"If-None-Match": answer.getheader("ETag")})
            self.assertEqual(again[:2], (304, ""))
            perfbench("note", "latest", "something", "--author", "me", "--db", self.db)
            self.wait(lambda: server.ask("GET", "/runs?data", {"If-None-Match": answer.getheader("ETag")})[0] == 200)
        finally:
            server.end()

    def test_other_names_methods_and_addresses_are_refused(self):
        server = Server(self.db)
        try:
            self.assertEqual(server.ask("GET", "/", {"Host": "evil.example"})[0], 403)
            self.assertEqual(server.ask("GET", "/", {"Host": f"localhost:{server.port}"})[0], 200)
            self.assertEqual(server.ask("GET", "/runs?where=state=ok")[0], 200)
            status, page, _ = server.ask("GET", "/reprot")
            self.assertEqual(status, 404)
            self.assertIn("There is no page /reprot (did you mean '/report'?).", page)
            self.assertEqual(server.ask("GET", "/run/" + self.folder.name)[0], 404)
            self.assertEqual(server.ask("GET", "/run/../../etc/passwd")[0], 404)
            self.assertEqual(server.ask("GET", "/runs?limit=1000000000")[0], 404)
            missing = server.ask("GET", "/run/0123456789ab")[1]
            self.assertIn("has no run whose id begins with that", missing)
            self.assertNotIn(self.folder.name, missing, "clients do not learn about this machine's disk")
            self.assertEqual(server.ask("DELETE", "/runs")[0], 404)
            self.assertEqual(server.ask("POST", "/alerts/1234")[0], 403)
            _, _, answer = server.ask("GET", "/")
            self.assertIn("default-src 'none'", answer.getheader("Content-Security-Policy"))
            self.assertIn("frame-ancestors 'none'", answer.getheader("Content-Security-Policy"))
            self.assertEqual(answer.getheader("X-Content-Type-Options"), "nosniff")
            second = subprocess.run([program.PATH, "serve", "--db", str(self.db), "--port", str(server.port)],
                                    capture_output=True, text=True, timeout=PATIENCE_S)
            self.assertEqual(second.returncode, 3)
            self.assertIn("cannot listen at 127.0.0.1", second.stderr)
        finally:
            server.end()

    def test_who_types_goes_on_typing_where_the_page_changes(self):
        server = Server(self.db)
        try:
            self.open(server.url + "runs")
            self.driver.find_element(By.CSS_SELECTOR, "section[data-key=runs] td a[href^='/run/']").click()
            field = "section[data-key=metrics] input[type=search]"
            self.driver.find_element(By.CSS_SELECTOR, field).send_keys("step")
            rows = self.texts("section[data-key=metrics] tbody tr")
            perfbench("note", "latest", "seen while somebody types", "--author", "me", "--db", self.db)
            self.wait(lambda: "seen while somebody types" in self.texts("main")[0])
            self.driver.switch_to.active_element.send_keys("_time")
            self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, field).get_attribute("value"), "step_time")
            self.assertLess(len(self.texts("section[data-key=metrics] tbody tr")), len(rows))
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)

    def test_a_server_that_writes_says_at_once_that_it_has_no_author(self):
        # As in a container: neither git nor the environment knows the user's name.
        bare = {"PATH": os.environ["PATH"], "HOME": self.folder.name, "GIT_CONFIG_NOSYSTEM": "1",
                "PERFBENCH_DATA_DIR": str(ROOT)}
        done = subprocess.run([program.PATH, "serve", "--db", str(self.db), "--port", "0", "--write"], capture_output=True,
                              text=True, cwd=self.folder.name, env=bare, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 3)
        self.assertIn("the author is unknown; give --author", done.stderr)

    def test_alerts_are_acknowledged_from_the_page_that_has_the_token(self):
        nights = program.demonstration(Path(self.folder.name) / "demonstration")
        alert = json.loads(perfbench("alerts", "list", "--db", nights, "--format", "json", exits=(0, 1)))
        name = re.search(r'"alert_id":\s*"([0-9a-f]+)"', json.dumps(alert)).group(1)
        server = Server(nights, "--write", "--author", "who serves")
        try:
            own = {"Origin": server.url.rstrip("/"), "X-Perfbench-Token": server.token}
            action = json.dumps({"to": "acknowledged", "reason": "known"})
            for headers in ({}, {**own, "Origin": "http://evil.example"}, {**own, "X-Perfbench-Token": "0" * 32}):
                self.assertEqual(server.ask("POST", f"/alerts/{name}", headers, action)[0], 403, headers)
            self.assertEqual(server.ask("POST", f"/alerts/{name}", own, "{")[0], 400)
            self.assertEqual(server.ask("POST", f"/alerts/{name}", own, '{"to": "gone", "reason": "x"}')[0], 400)
            self.open(f"{server.url}alerts/{name}")
            self.assertEqual(self.texts("#actions"), [], "without the token there is nothing to press")
            self.open(f"{server.url}#token={server.token}")
            self.assertNotIn("token", self.driver.current_url)
            self.open(f"{server.url}alerts/{name}")
            self.driver.find_element(By.CSS_SELECTOR, "#actions input").send_keys("a </script> reason")
            self.driver.find_element(By.XPATH, "//button[text()='Mark as acknowledged']").click()
            self.wait(lambda: self.texts("#actions [role=status]") == ["It is acknowledged now."])
            self.wait(lambda: "a </script> reason" in self.texts("main")[0])
            self.wait(lambda: self.texts("#actions button")[:2] == ["Mark as open", "Mark as fixed"])
            browser.picture(self.driver, program.SCREENSHOTS / "alert.png")
            said = perfbench("alerts", "show", name, "--db", nights, "--format", "json")
            self.assertIn("acknowledged", said)
            self.assertIn("who serves", said)
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)
