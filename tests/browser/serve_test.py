#!/usr/bin/env python3
"""A server's pages in headless Chromium, while a sweep writes to its database; and what it refuses.

usage: serve_test.py PERFBENCH SCREENSHOTS [TEST ...]     the program, a folder for pictures
"""
import http.client
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import browser

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 120  # of a machine that does something else, too


class Server:
    """perfbench serve at a port that is free; on a slow machine, too, it answers with what was asked for."""

    def __init__(self, db, *options, patience_s=PATIENCE_S):
        self.process = subprocess.Popen([PROGRAM, "serve", "--db", str(db), "--port", "0", "--patience",
                                         str(1000 * patience_s), *options],
                                        stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"serving (http://127\.0\.0\.1:(\d+)/)(?:#token=([0-9a-f]{32}))?\n", line)
        if found is None:
            self.process.kill()
            raise AssertionError(f"said: {line!r}")
        self.url, self.port, self.token = found.group(1), int(found.group(2)), found.group(3)

    def ask(self, method, path, headers=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, answer

    def end(self):
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


def perfbench(*arguments, exits=(0,), cwd=None):
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd)
    if done.returncode not in exits:
        raise AssertionError(f"perfbench {arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.db = Path(cls.folder.name) / "served.db"
        perfbench("sweep", ROOT / "matrices/quickstart.yaml", "--db", cls.db, "--only", "model=gpt-mini", "--only",
                  "attention=flash", "--only", "remat=none")
        cls.driver = browser.start()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def open(self, address):
        browser.requests_since(self.driver)
        self.driver.get_log("browser")
        self.driver.get(address)

    def wait(self, condition):
        WebDriverWait(self.driver, PATIENCE_S).until(lambda driver: condition())

    def texts(self, selector):
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def expect_harmless(self, server):
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])
        for url in browser.requests_since(self.driver):
            self.assertTrue(url.startswith(server.url) or url == "data:,", url)

    def test_pages_lead_to_each_other(self):
        server = Server(self.db)
        try:
            self.open(server.url)
            self.assertEqual(self.texts("#places a"), ["Overview", "Report", "Runs", "History", "Alerts"])
            browser.picture(self.driver, SCREENSHOTS / "overview.png")
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
            self.assertNotIn("not what this engine counts", said)  # what was counted is what was recorded
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
            perfbench("sweep", ROOT / "matrices/quickstart.yaml", "--db", self.db, "--only", "model=gpt-mini", "--only",
                      "attention=dot_product", "--only", "remat=none")
            self.wait(lambda: len(self.texts("section[data-key=runs] tbody tr")) > rows)
            self.assertTrue(self.driver.execute_script("return window.untouched === true"), "it was loaded again")
            element = self.driver.find_element(By.CSS_SELECTOR, header)
            self.assertEqual(element.get_attribute("aria-sort"), "ascending")
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)

    def test_what_takes_long_to_make_shows_up_in_a_page_that_says_so(self):
        server = Server(self.db, patience_s=0)
        try:
            # One of a small database may be there before anybody can be told that it is not.
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
                if self.texts("main"):  # not the failure itself, which may be there before anybody can be told to wait
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
            self.assertEqual(server.ask("GET", "/nothing")[0], 404)
            self.assertEqual(server.ask("GET", "/run/" + self.folder.name)[0], 404)
            self.assertEqual(server.ask("GET", "/run/../../etc/passwd")[0], 404)
            self.assertEqual(server.ask("GET", "/runs?limit=1000000000")[0], 404)
            self.assertEqual(server.ask("DELETE", "/runs")[0], 404)
            self.assertEqual(server.ask("POST", "/alerts/1234")[0], 403)
            _, _, answer = server.ask("GET", "/")
            self.assertIn("default-src 'none'", answer.getheader("Content-Security-Policy"))
            self.assertIn("frame-ancestors 'none'", answer.getheader("Content-Security-Policy"))
            self.assertEqual(answer.getheader("X-Content-Type-Options"), "nosniff")
            second = subprocess.run([PROGRAM, "serve", "--db", str(self.db), "--port", str(server.port)],
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
        # As in a container: neither git nor the environment knows who it is.
        bare = {"PATH": os.environ["PATH"], "HOME": self.folder.name, "GIT_CONFIG_NOSYSTEM": "1",
                "PERFBENCH_DATA_DIR": str(ROOT)}
        done = subprocess.run([PROGRAM, "serve", "--db", str(self.db), "--port", "0", "--write"], capture_output=True,
                              text=True, cwd=self.folder.name, env=bare, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 3)
        self.assertIn("who is the author? give --author", done.stderr)

    def test_alerts_are_acknowledged_from_the_page_that_has_the_token(self):
        nights = Path(self.folder.name) / "nights.db"
        perfbench("nightly", ROOT / "matrices/quickstart.yaml", "--db", nights, "--history-from", "simulated",
                  exits=(1,))
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
            browser.picture(self.driver, SCREENSHOTS / "alert.png")
            said = perfbench("alerts", "show", name, "--db", nights, "--format", "json")
            self.assertIn("acknowledged", said)
            self.assertIn("who serves", said)
            self.expect_harmless(server)
        finally:
            self.assertEqual(server.end(), 0)


if __name__ == "__main__":
    PROGRAM, SCREENSHOTS = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
