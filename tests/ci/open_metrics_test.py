"""What `perfbench export --format openmetrics` writes, and `perfbench serve` has at /metrics, is OpenMetrics: the parser of
the Prometheus project reads it, with the texts and the values that went in. Skipped (77) without python3-prometheus-client.

usage: open_metrics_test.py BUILD
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.request

PERFBENCH = pathlib.Path(sys.argv.pop()) / "bin/perfbench"
try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print("skipped: no python3-prometheus-client")
    sys.exit(77)

HOSTILE = 'a "quoted\\ name"\nin {two} lines, \x1b[31m \u202e é, n=1} 7 # EOF'
RESULTS = [{"command": HOSTILE, "times": [0.25, 0.5, 1.0], "memory_usage_byte": [4096, 4096, 4096]},
           {"command": "plain", "times": [1e-9, 1e-9, 3e22]},
           {"command": "fails", "times": [1, 2], "exit_codes": [1, 1]}]


def perfbench(folder, *words):
    return subprocess.run([PERFBENCH, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


class OpenMetrics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        (cls.folder / "old.json").write_text(json.dumps({"results": [{"command": "plain", "times": [7]}]}))
        (cls.folder / "new.json").write_text(json.dumps({"results": RESULTS}))
        for name, date in (("old", "2026-01-01"), ("new", "2026-01-02T03:04:05Z")):
            perfbench(cls.folder, "import", "--format", "hyperfine", "--date", date, "--db", "a.db", f"{name}.json")
        perfbench(cls.folder, "export", "--db", "a.db", "--format", "openmetrics", "a.prom")
        cls.text = (cls.folder / "a.prom").read_bytes().decode()
        cls.families = {family.name: family for family in text_string_to_metric_families(cls.text)}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def values(self, family):
        return {sample.labels["cell"]: sample.value for sample in self.families[family].samples}

    def test_has_the_medians_of_the_newest_sweep(self):
        self.assertEqual(self.values("perfbench_step_time_seconds"),
                         {f"benchmark={HOSTILE}": 0.5, "benchmark=plain": 1e-9})
        self.assertEqual(self.values("perfbench_step_time_mean_seconds")["benchmark=plain"], 1e22)

    def test_names_end_in_their_units(self):
        for name, family in self.families.items():
            self.assertEqual(family.type, "gauge")
            self.assertTrue(name.startswith("perfbench_"))
            self.assertTrue(not family.unit or name.endswith("_" + family.unit), name)
        self.assertEqual(self.families["perfbench_resident_bytes"].unit, "bytes")
        self.assertIn("lower is better", self.families["perfbench_resident_bytes"].documentation)

    def test_says_when_and_how_cells_were_measured(self):
        self.assertEqual(set(self.values("perfbench_cell_measured_timestamp_seconds").values()), {1767323045.0})
        states = {(s.labels["cell"], s.labels["state"]) for s in self.families["perfbench_cell_runs"].samples}
        self.assertIn(("benchmark=fails", "quarantined"), states)
        for family in self.families.values():
            self.assertTrue(all(sample.timestamp is None for sample in family.samples))

    def test_ends_as_the_format_says(self):
        self.assertTrue(self.text.endswith("\n# EOF\n"))
        with self.assertRaises(ValueError):  # the parser does look
            list(text_string_to_metric_families(self.text.replace("# EOF\n", "")))

    def test_a_server_has_the_same(self):
        with subprocess.Popen([PERFBENCH, "serve", "--db", "a.db", "--port", "0"], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
            try:
                address = re.search(r"http://\S+/", server.stdout.readline())[0]
                with urllib.request.urlopen(address + "metrics", timeout=60) as answer:
                    self.assertEqual(answer.read().decode(), self.text)
                    self.assertTrue(answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"))
            finally:
                server.terminate()

    def test_json_lines_have_every_attempt(self):
        perfbench(self.folder, "export", "--db", "a.db", "--format", "jsonl", "a.jsonl")
        lines = [json.loads(line) for line in (self.folder / "a.jsonl").read_text().splitlines()]
        self.assertEqual(len(lines), 4)
        found = next(line for line in lines if line["cell"] == f"benchmark={HOSTILE}")
        self.assertEqual(found["metrics"]["step_time_s"], 0.5)
        self.assertEqual(found["run"]["program"]["command"], ["hyperfine", HOSTILE])
        self.assertEqual(found["state"], "ok")
        perfbench(self.folder, "export", "--db", "a.db", "--format", "jsonl", "--select", "latest", "b.jsonl")
        self.assertEqual(len((self.folder / "b.jsonl").read_text().splitlines()), 3)


if __name__ == "__main__":
    unittest.main()
