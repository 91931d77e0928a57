"""What ci/bench makes of its measurements, on made-up numbers."""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # a bytecode file would count as a change of the tree

sys.path.insert(0, str(pathlib.Path(sys.argv.pop(1)) / "ci" / "bench"))

import gpu_overhead  # noqa: E402
import gpu_peers  # noqa: E402
from figures import median_interval, ratio_summary, ratios  # noqa: E402


class MedianInterval(unittest.TestCase):
    def test_five_values_cannot_hold_it_with_95_percent_so_the_extremes_are_given(self):
        self.assertEqual(median_interval([5, 1, 4, 2, 3]), (1, 3, 5))

    # Conover, Practical Nonparametric Statistics, table of the binomial with p = 1/2: for 10 values the second and
    # ninth (2 * 11/1024 = 2.1 %), for 20 the sixth and fifteenth (2 * 0.0207 = 4.1 %).
    def test_textbook_ranks(self):
        self.assertEqual(median_interval(range(1, 11)), (2, 5.5, 9))
        self.assertEqual(median_interval(range(1, 21)), (6, 10.5, 15))

    def test_one_value(self):
        self.assertEqual(median_interval([7]), (7, 7, 7))


class Ratios(unittest.TestCase):
    ROWS = [{"round": 0, "by": "a", "v": 4.0}, {"round": 0, "by": "b", "v": 2.0}, {"round": 1, "by": "a", "v": 9.0},
            {"round": 1, "by": "b", "v": 3.0}, {"round": 2, "by": "a", "v": 1.0}]

    def test_are_those_of_one_round(self):
        self.assertEqual(ratios(self.ROWS, "a", "b", "by", "v", "round"), [2.0, 3.0])
        self.assertEqual(ratio_summary(self.ROWS, "a", "b", "by", "v", "round")["pairs"], 2)
        self.assertIsNone(ratio_summary(self.ROWS, "a", "c", "by", "v", "round"))


class Overhead(unittest.TestCase):
    def rows(self, device_ratio):
        rows = []
        for number in range(40):
            drift = 1e6 * (1 + number)  # the machine slows down, which must not affect rounds
            rows.append({"round": number, "by": "nobody", "wall_ns": drift})
            rows.append({"round": number, "by": "device", "wall_ns": drift * device_ratio})
        return rows

    def test_limits_are_kept_or_broken_with_the_whole_interval(self):
        self.assertEqual(gpu_overhead.summarise(self.rows(1.001))["device"]["verdict"], "kept")
        self.assertEqual(gpu_overhead.summarise(self.rows(1.01))["device"]["verdict"], "broken")
        self.assertEqual(gpu_overhead.verdict({"low": 0.99, "high": 1.02}, 1.005), "undecided")


class Peers(unittest.TestCase):
    def test_what_was_measured_is_found_again_and_what_was_not_is_said(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "rounds.jsonl"
            rounds = gpu_peers.Rounds(file)
            warm_up = [9e9] * gpu_peers.UNTIMED_STEPS
            for number, (engine, torch) in enumerate([(100e6, 120e6), (200e6, 260e6)]):
                rounds.add("m:1x2", number, "engine", {"steps_ns": warm_up + [engine] * 5})
                rounds.add("m:1x2", number, "torch", {"steps_ns": warm_up + [torch] * 5})
            rounds.add("m:1x2", 0, "jax", {"skipped": "no such rotation"})
            again = gpu_peers.Rounds(file)
            self.assertEqual(again.rows, rounds.rows)
            self.assertIsNone(again.find("m:1x2", 2, "engine"))
            case = gpu_peers.summarise(again.rows, {})["cases"]["m:1x2"]
            self.assertEqual(case["engine"]["median_ms"], 150)
            self.assertAlmostEqual(case["torch"]["over_engine"]["median"], 1.25)
            self.assertEqual(case["jax"], {"without": "no such rotation"})


if __name__ == "__main__":
    unittest.main()
