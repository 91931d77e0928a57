"""Every script of ci/bench starts and ends: the engine is the real one on a tiny model, PyTorch, JAX and the detectors are
those of fake_frameworks. No figure is looked at, only that there is one.

usage: bench_scripts_test.py REPOSITORY BUILD
"""

import csv
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

BUILD = pathlib.Path(sys.argv.pop())
BENCH = pathlib.Path(sys.argv.pop()) / "ci" / "bench"
FAKES = pathlib.Path(__file__).resolve().parent / "fake_frameworks"
sys.path.insert(0, str(BENCH))
sys.dont_write_bytecode = True

import mkl_as_intel  # noqa: E402
from bench_ranks import settings_of  # noqa: E402
from cells import case_settings, step_times_ns  # noqa: E402
from engine_ranks import EngineRanks  # noqa: E402
from worker import RankWorkers, Worker  # noqa: E402

CASE = "llama-tiny:2x16"
# The scripts that each test below runs, directly or through the script that it starts.
RUN_BY = {"bench_engine.py": {"bench_engine.py", "peer_torch.py", "torch_models.py", "cells.py", "worker.py", "figures.py",
                              "mkl_as_intel.py"},
          "bench_ranks.py": {"bench_ranks.py", "engine_ranks.py", "peer_torch_ranks.py", "peer_torch.py", "torch_models.py",
                             "cells.py", "worker.py", "figures.py", "mkl_as_intel.py"},
          "gpu_peers.py": {"gpu_peers.py", "peer_steps_torch.py", "peer_steps_jax.py", "torch_models.py", "cells.py",
                           "figures.py"},
          "gpu_overhead.py": {"gpu_overhead.py", "cells.py", "figures.py"},
          "bench_detectors.py": {"bench_detectors.py"},
          "bench_serve.py": {"bench_serve.py"}}


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, name, *arguments):
        # No bytecode: its files would count as changes of the tree.
        environment = dict(os.environ, PYTHONPATH=str(FAKES), PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")
        done = subprocess.run([sys.executable, BENCH / name, *map(str, arguments)], capture_output=True, text=True,
                              env=environment)
        self.assertEqual(done.returncode, 0, f"{name}:\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_the_engine_is_timed_beside_its_floor_and_pytorch(self):
        output = self.run_script("bench_engine.py", "--build", BUILD, "--case", CASE, "--rounds", 1, "--warmup", 0,
                                 "--threads", 1, "--torch-python", sys.executable, "--compile")
        row = json.loads(output)
        self.assertEqual(row["case"], CASE)
        for figure in ("engine_over_floor", "torch_over_engine", "compiled_over_engine", "memory_over_torch"):
            self.assertGreater(row[figure], 0, figure)

    def test_further_keys_are_of_the_run_that_is_timed(self):
        within = '{"optimizer": {"in_backward": true, "clip_norm": 0}}'
        command = ["--build", BUILD, "--case", CASE, "--rounds", 1, "--warmup", 0, "--threads", 1]
        self.assertGreater(json.loads(self.run_script("bench_engine.py", *command, "--settings", within))["engine_s"], 0)
        with self.assertRaises(AssertionError):
            self.run_script("bench_engine.py", *command, "--settings", '{"optimizer": {"in_backwards": true}}')

    def test_views_of_a_server_are_timed_over_many_runs(self):
        output = self.run_script("bench_serve.py", "--perfbench", BUILD / "bin" / "perfbench", "--runs", 1000)
        self.assertIn("1001 runs", output)
        self.assertEqual(len([line for line in output.splitlines() if line.startswith("| `/")]), 22, output)

    def test_products_beside_the_peak_of_the_machine(self):
        done = subprocess.run([BUILD / "bin" / "product_benchmark", "1", "4"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len({line.count("|") for line in lines}), 1, done.stdout)
        self.assertIn("| 1 | 4 | logits | dw |", done.stdout)

    def test_ranks_of_the_engine_are_timed_beside_ranks_of_pytorch(self):
        output = self.run_script("bench_ranks.py", "--build", BUILD, "--case", CASE, "--rounds", 1, "--warmup", 1,
                                 "--torch-python", sys.executable)
        rows = [json.loads(line) for line in output.splitlines()]
        self.assertEqual([(row["case"], row["kind"], row["ranks"], row["peer"], row["rounds"]) for row in rows],
                         [(CASE, "dp", 2, "DistributedDataParallel", 1), (CASE, "fsdp", 2, "FSDP2", 1)])
        for row in rows:
            for figure in ("torch_over_engine", "memory_over_torch"):
                self.assertGreater(row[figure], 0, figure)

    def test_ranks_of_the_engine_are_timed_alone_and_that_is_said(self):
        output = self.run_script("bench_ranks.py", "--build", BUILD, "--case", CASE, "--rounds", 1, "--warmup", 0)
        for row in map(json.loads, output.splitlines()):
            self.assertGreater(row["engine_s"], 0)
            self.assertGreater(row["engine_peak_gib"], 0)
            self.assertEqual(row["skipped"], "PyTorch: no --torch-python")
            self.assertNotIn("torch_s", row)

    def test_the_mesh_is_of_the_kind_that_is_timed(self):
        for kind in ("dp", "fsdp"):
            settings = settings_of(CASE, kind, types.SimpleNamespace(ranks=2, threads=1, warmup=2, rounds=3))
            self.assertEqual(settings, {"model": "llama-tiny", "global_batch": 2, "seq_len": 16, kind: 2,
                                        "threads_per_rank": 1, "steps": 5})

    def test_ranks_of_the_engine_step_when_they_are_asked(self):
        settings = {**case_settings(CASE), "fsdp": 2, "threads_per_rank": 1, "steps": 2}
        with EngineRanks(BUILD, self.folder, settings, 2) as engine:
            engine.await_turn()
            for done in (1, 2):
                engine.step()
                self.assertEqual([len(step_times_ns(engine.attempt(), rank)) for rank in (0, 1)], [done, done])
            measured = engine.finish()
            self.assertEqual(measured["step_ns"], [max(step) for step in zip(step_times_ns(engine.attempt(), 0),
                                                                             step_times_ns(engine.attempt(), 1))])
            self.assertGreater(measured["peak_rss_bytes"], 0)

    def test_an_engine_that_ends_before_its_turn_says_why(self):
        settings = {**case_settings(CASE), "dp": 2, "threads_per_rank": 1, "steps": 2, "memory_limit_bytes": 1}
        with EngineRanks(BUILD, self.folder, settings, 2) as engine:
            with self.assertRaisesRegex(RuntimeError, "before its time: .*needs"):
                engine.await_turn()

    def test_a_step_of_ranks_is_of_all_and_as_long_as_the_slowest(self):
        # In its step each rank waits for the other, as in a collective.
        meeting = self.folder / "meeting"
        os.mkfifo(meeting)
        rank = ("import sys; print('ready {}', flush=True)\n"
                "for line in sys.stdin: open(sys.argv[1], sys.argv[2]).close(); print(sys.argv[3], flush=True)")
        workers = RankWorkers([Worker([sys.executable, "-c", rank, meeting, mode, json.dumps(answer)], 1) for mode, answer in
                               (("r", {"step_ns": 3, "peak_rss_bytes": 7}), ("w", {"step_ns": 5, "peak_rss_bytes": 4}))])
        workers.await_ready()
        self.assertEqual(workers.step(), {"step_ns": 5, "peak_rss_bytes": 7})
        workers.close()

    def test_a_peer_is_told_that_its_cpu_is_intels_where_it_is_another(self):
        self.assertTrue(mkl_as_intel.is_other_x86("processor\t: 0\nvendor_id\t: AuthenticAMD\n"))
        self.assertFalse(mkl_as_intel.is_other_x86("processor\t: 0\nvendor_id\t: GenuineIntel\n"))
        self.assertFalse(mkl_as_intel.is_other_x86("processor\t: 0\nCPU implementer\t: 0x41\n"))
        self.assertEqual(mkl_as_intel.environment(False, self.folder), {})
        library = mkl_as_intel.environment(True, self.folder)["LD_PRELOAD"].split(":")[0]
        self.assertEqual(ctypes.CDLL(library).mkl_serv_intel_cpu_true(), 1)

    def test_the_engine_is_timed_beside_both_peers_in_processes_that_alternate(self):
        self.run_script("gpu_peers.py", "--build", BUILD, "--folder", self.folder, "--device", "cpu", "--case", CASE,
                        "--rounds", 1, "--steps", 6)
        summary = json.loads((self.folder / "summary.json").read_text())
        self.assertEqual(summary["absent"], {})
        for who in ("torch", "jax"):
            self.assertEqual(summary["cases"][CASE][who]["over_engine"]["pairs"], 1)

    def test_what_watching_a_step_costs(self):
        self.run_script("gpu_overhead.py", "--build", BUILD, "--folder", self.folder, "--device", "cpu", "--model",
                        "llama-tiny", "--batch", 2, "--seq", 16, "--rounds", 2)
        self.assertEqual(json.loads((self.folder / "summary.json").read_text())["spans"]["pairs"], 2)

    def test_the_screen_beside_public_detectors(self):
        with open(self.folder / "series.csv", "w") as file:
            out = csv.writer(file)
            out.writerow(["noise", "shift_sigma", "series", "night", "value"])
            for sigma in (0.0, 2.0):
                for night in range(150):
                    out.writerow(["gaussian", sigma, 0, night, 0.01 * (night % 7) + (sigma if night >= 120 else 0)])
        (self.folder / "screens.csv").write_text("noise,shift_sigma,series,night\ngaussian,2.0,0,121\n")
        rows = self.run_script("bench_detectors.py", self.folder, "--jobs", 1).splitlines()
        self.assertEqual([row.split(" | ")[1] for row in rows[2:]],
                         ["perfbench screen", "Apache Otava 0", "ruptures PELT, BIC 0"])
        self.assertTrue(rows[2].endswith("| 0.0 | 2 |"), rows[2])

    def test_no_script_is_left_out(self):
        self.assertEqual({path.name for path in BENCH.glob("*.py")}, set.union(*RUN_BY.values()))


if __name__ == "__main__":
    unittest.main()
