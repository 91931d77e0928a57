"""A store whose every name and sentence wants to be markup, script, colours or a formula, in headless Chromium."""
import collections
import json
import sqlite3
import tempfile
import unittest
import urllib.parse
from pathlib import Path

from selenium.webdriver.common.by import By

import browser
import program
import program
from program import HOSTILE, ONE_CELL, QUICKSTART, Server, perfbench

# Text that people, engines and other machines provide. Columns not listed here have a grammar of their own.
SAID = {
    "sweeps": ("matrix",),
    "cells": ("matrix", "label"),
    "cell_axes": ("axis", "value"),
    "runs": ("model", "hardware"),
    "environment_facts": ("value",),
    "attempts": ("reason", "perfbench_version"),
    "baselines": ("name", "author", "reason"),
    "alerts": ("matrix", "cell", "machine_fingerprint", "good_revision", "bad_revision", "detail"),
    "alert_events": ("author", "reason"),
    "alert_environment": ("fact", "before", "after"),
    "alert_attribution": ("name",),
    "ab_comparisons": ("matrix",),
    "ab_sides": ("asked", "git_commit", "engine"),
    "ab_pairs": ("cell", "discarded"),
    "ab_verdicts": ("cell", "detail"),
    "tags": ("name", "author"),
    "notes": ("author", "text"),
}
# Facts that have a grammar: numbers, yes and no.
WORDS_ALONE = {"environment_facts": "WHERE value GLOB '*[a-zA-Z]*' AND value NOT IN ('true', 'false')"}
MOST_OF_A_KIND = 4  # of pages: runs, reports

# Parts of a page that foreign text has made, or would make.
TAKEN = """
const found = [];
if (document.title === "taken") found.push("the title is taken");
for (const element of document.querySelectorAll("img, iframe, object, embed, form, base, script[src], main script"))
  found.push(element.outerHTML.slice(0, 80));
for (const element of document.querySelectorAll("*"))
  for (const { name, value } of element.attributes) {
    if (name.startsWith("on")) found.push(`${name} of ${element.tagName}`);
    if (["href", "src"].includes(name) && !/^(data:,$|#|\\/(?!\\/))/.test(value)) found.push(value);
  }
const text = document.body.textContent;
if (/[\\u202a-\\u202e\\u2066-\\u2069\\u0000-\\u0008\\u000b-\\u001f\\u007f]/.test(text)) found.push("a control character");
return found;
"""


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.db = program.demonstration(Path(cls.folder.name) / "demonstration")
        one = (*ONE_CELL, "--db", cls.db)
        perfbench("compare", "--ab", "current", "set:attention=dot_product", QUICKSTART, *one, "--pairs", "4",
                  exits=(0, 1, 2))
        perfbench("sweep", QUICKSTART, *one, "--set", "trace_steps=1")
        perfbench("baseline", "set", "base", "--from", "latest", "--reason", "why", "--author", "me", "--db", cls.db)
        perfbench("tag", "latest", "best", "--author", "me", "--db", cls.db)
        perfbench("note", "latest", "a note", "--author", "me", "--db", cls.db)
        cls.make_hostile()
        cls.driver = browser.start()

    @classmethod
    def make_hostile(cls):
        connection = sqlite3.connect(cls.db)
        connection.execute("INSERT INTO alert_environment SELECT alert_key, 'fact', 'before', 'after' FROM alerts")
        for table, columns in SAID.items():
            for column in columns:
                sql = f"UPDATE {table} SET {column} = {column} || ? {WORDS_ALONE.get(table, '')}"
                assert connection.execute(sql, (HOSTILE,)).rowcount > 0, f"{table} is empty, so nothing of it is tried"
        connection.commit()
        connection.close()
        traces = list(cls.db.with_suffix(".runs").glob("*/*/trace.rank0.jsonl"))
        assert traces
        for trace in traces:
            events = [json.loads(line) for line in trace.read_text().splitlines()]
            for event in events:
                if event.get("kind") in ("op", "copy"):
                    event["name"] += HOSTILE
            trace.write_text("".join(json.dumps(event) + "\n" for event in events))

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def visit(self, server, path):
        """Opens the page, which may do nothing that it should not; its status, and where its links lead."""
        browser.open_address(self.driver, server.url + path.lstrip("/"))
        self.assertEqual(self.driver.execute_script(TAKEN), [], path)
        self.assertEqual(browser.asked_of_others(self.driver, server.url), [], path)
        status = self.driver.execute_script("return performance.getEntriesByType('navigation')[0].responseStatus")
        if status == 200:  # for other codes the browser itself reports the error
            self.assertEqual(browser.errors_since(self.driver), [], path)
        links = self.driver.find_elements(By.CSS_SELECTOR, 'main a[href^="/"], #places a')
        return status, [link.get_dom_attribute("href") for link in links]

    def runs(self):
        with sqlite3.connect(self.db) as connection:
            return connection.execute("SELECT min(run_id), max(run_id) FROM runs").fetchone()

    def test_a_server_shows_it_as_text_on_every_page_that_its_links_lead_to(self):
        server = Server(self.db)
        try:
            left, right = self.runs()
            newest = perfbench("list", "--where", "tags=best*", "--format", "csv", "--db", self.db).split("\n")[1][:12]
            nowhere = "/report?sweep=" + urllib.parse.quote(HOSTILE)
            waiting = ["/", f"/trace/{newest}?against={newest}", f"/diff?left={left}&right={right}", nowhere]
            seen, failed, silent, titles = collections.Counter(), [], [], []
            known = set(waiting)
            while waiting:
                path = waiting.pop(0)
                kind = path.split("/")[1].split("?")[0]
                if seen[kind] == MOST_OF_A_KIND:
                    continue
                seen[kind] += 1
                status, links = self.visit(server, path)
                if status != 200:
                    failed.append(path)
                    continue
                text = self.driver.execute_script("return document.body.textContent")
                self.assertNotIn("cannot be read", text, path)
                if "zq</script>" not in text:
                    silent.append(path)
                titles += [heading.text for heading in self.driver.find_elements(By.TAG_NAME, "h1")]
                waiting += [link for link in dict.fromkeys(links) if link not in known]
                known.update(links)
            self.assertEqual(set(seen), {"", "report", "runs", "run", "diff", "trace", "history", "alerts"})
            self.assertEqual(failed, [nowhere])
            self.assertEqual(silent, [])
            self.assertTrue([title for title in titles if title.startswith("Comparison ")])
        finally:
            self.assertEqual(server.end(), 0)

    def test_pages_from_disk_show_it_as_text(self):
        with sqlite3.connect(self.db) as connection:
            ((alert,),) = connection.execute("SELECT alert_id FROM alerts LIMIT 1")
        run, other = self.runs()
        file = Path(self.folder.name) / "page.html"
        written = ("--format", "html", "-o", file)
        for command in (["report", "--sweep", "all", *written], ["list", *written], ["list", "sweeps", *written],
                        ["list", "baselines", *written], ["list", "tags", *written], ["show", run, *written],
                        ["diff", run, other, *written], ["history", *written], ["alerts", "list", "--html", file],
                        ["alerts", "show", alert, "--html", file],
                        ["compare", "--baseline", "base" + HOSTILE, "--html", file]):
            perfbench(*command, "--db", self.db, exits=(0, 2))
            page = browser.Page(self.driver, file)
            self.assertEqual(page.misdeeds(), [], command)
            self.assertEqual(page.run(TAKEN), [], command)
            self.assertIn("zq</script>", page.run("return document.body.textContent"), command)
            file.unlink()
