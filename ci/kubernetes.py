#!/usr/bin/env python3
"""Sweeps in Jobs of Kubernetes: kubectl is real, the API server is a stand-in (fake_kubernetes.py), and the worker of
each pod is a process of this machine. Faults of every kind, and no Job is left unfinished.

usage: ci/kubernetes.py PERFBENCH [--kills N]

Where there is no kubectl, this says so and ends well.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from acceptance import ONE_CELL, PATIENCE_S, QUICKSTART, begun, check, check_kills, free_ports, rows, wait_for
from fake_kubernetes import Cluster

SITE = """kubernetes:
  image: registry/perfbench
  namespace: perf
  claim: results
  folder: {folder}
"""
CONTEXT = {"apiVersion": "v1", "kind": "Config", "current-context": "fake", "users": [{"name": "ada", "user": {}}],
           "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "ada"}}]}


class Harness:
    def __init__(self, perfbench, cluster):
        self.perfbench = perfbench
        self.cluster = cluster

    def words(self, db, *more):
        return [self.perfbench, "sweep", str(QUICKSTART), "--launcher", "kubernetes", "--db", db, *more]

    def sweep(self, db, *more):
        return subprocess.run(self.words(db, *more), capture_output=True, text=True, timeout=10 * PATIENCE_S)

    def begin(self, db, *more):
        return subprocess.Popen(self.words(db, *more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                start_new_session=True)

    def check_no_job_left(self, after):
        wait_for(f"the end of all jobs after {after}", lambda: not self.cluster.unfinished())

    def long_attempt(self, db):
        """A sweep of one long attempt, and the pod that has begun it."""
        sweep = self.begin(db, *ONE_CELL, "--set", "steps=2000")
        wait_for("an attempt", lambda: begun(db))
        return sweep, self.cluster.only_pod()


def states(db):
    return rows(db, "SELECT state, count(*) FROM attempts GROUP BY state ORDER BY state")


def check_sweep(harness):
    ended = harness.sweep("sweep.db", "--jobs", "2")
    check(ended.returncode == 0 and "12 ok" in ended.stdout, f"a sweep gives {ended.returncode}: {ended.stderr}")
    places = rows("sweep.db", "SELECT launcher, count(*), count(DISTINCT job) FROM attempt_jobs GROUP BY launcher")
    check(places == [("kubernetes", 12, 2)], f"the jobs of a sweep are {places}")
    images = rows("sweep.db", "SELECT DISTINCT image FROM attempt_jobs")
    check(images == [("registry/perfbench",)], f"the images of a sweep are {images}")
    nodes = rows("sweep.db", "SELECT DISTINCT nodes FROM attempt_jobs")
    check(nodes == [("n1",)], f"the nodes of a sweep are {nodes}")
    known = sorted(job["metadata"]["name"] for job in harness.cluster.created)
    named = sorted(job for (job,) in rows("sweep.db", "SELECT DISTINCT job FROM attempt_jobs"))
    check(named == known, f"the attempts are in the jobs {named}, and the cluster has {known}")
    harness.check_no_job_left("a sweep")


def check_pulled_image(harness):
    """An image that cannot be pulled is told, and Ctrl-C leaves no job."""
    harness.cluster.pull_error = "ImagePullBackOff"
    sweep = harness.begin("pull.db", *ONE_CELL)
    line = ""
    while "ErrImagePull" not in line:
        line = sweep.stderr.readline()
        check(line, "a sweep whose image cannot be pulled does not say so")
    sweep.send_signal(signal.SIGINT)
    sweep.communicate(timeout=PATIENCE_S)
    harness.cluster.pull_error = ""
    check(states("pull.db") == [("cancelled", 1)], f"without an image the attempts are {states('pull.db')}")
    harness.check_no_job_left("an image that cannot be pulled")


def check_end(harness, name, end, expected):
    """Something ends the Job within its only attempt."""
    db = f"{name}.db"
    sweep, pod = harness.long_attempt(db)
    end(sweep, pod)
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    check(states(db) == expected, f"after {name} the attempts are {states(db)}: {said}")
    harness.check_no_job_left(name)
    return said


def check_ends(harness):
    cluster = harness.cluster
    check_end(harness, "interruption", lambda sweep, pod: sweep.send_signal(signal.SIGINT), [("cancelled", 1)])
    said = check_end(harness, "deletion", lambda sweep, pod: subprocess.run(
        ["kubectl", "delete", "job", pod.name, "--namespace=perf", "--wait=false"], check=True,
        stdout=subprocess.DEVNULL), [("cancelled", 1)])
    check("no longer known" in said, f"a deleted job is not told: {said}")
    said = check_end(harness, "memory", lambda sweep, pod: pod.end(signal.SIGKILL), [("out_of_memory", 1)])
    check("137" in said, f"the kernel's kill is not told: {said}")


def check_preemption(harness):
    """The scheduler takes the node away: the attempt is lost, and another Job makes the rest."""
    sweep = harness.begin("preempted.db", "--only", "model=gpt-mini", "--set", "steps=150")
    wait_for("an attempt", lambda: begun("preempted.db"))
    harness.cluster.disrupt(harness.cluster.only_pod(), "PreemptionByScheduler")
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    check(states("preempted.db") == [("cancelled", 1), ("ok", 5)] and "PreemptionByScheduler" in said,
          f"after a preemption the attempts are {states('preempted.db')}: {said}")
    jobs = rows("preempted.db", "SELECT count(DISTINCT job) FROM attempt_jobs")
    check(jobs == [(2,)], f"after a preemption there are {jobs} jobs")
    harness.check_no_job_left("a preemption")


def check_suspension(harness):
    """Kueue suspends the Job and starts it again: the attempt is lost, and the same Job repeats it."""
    sweep = harness.begin("suspended.db", "--only", "model=gpt-mini", "--set", "steps=150")
    wait_for("an attempt", lambda: begun("suspended.db"))
    harness.cluster.suspend(harness.cluster.only_pod())
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    check(sweep.returncode == 0 and "Suspended" in said, f"a suspended job gives {sweep.returncode}: {said}")
    subprocess.run([harness.perfbench, "ingest", "suspended.runs", "--db", "suspended.db"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = states("suspended.db")
    check(found == [("cancelled", 1), ("ok", 6)], f"after a suspension the attempts are {found}: {said}")
    harness.check_no_job_left("a suspension")


def check_silent_server(harness):
    """Pods run on while the API server does not answer."""
    sweep = harness.begin("silent.db", "--only", "model=gpt-mini", "--set", "steps=100")
    wait_for("an attempt", lambda: begun("silent.db"))
    harness.cluster.stop()
    done = len(begun("silent.db"))
    wait_for("another attempt without an API server", lambda: len(begun("silent.db")) > done)
    harness.cluster.start()
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    check(sweep.returncode == 0, f"with a silent API server a sweep gives {sweep.returncode}: {said}")
    harness.check_no_job_left("a silent API server")


def check_folder(harness):
    """Run directories outside of the volume are refused before a Job is made."""
    before = len(harness.cluster.created)
    refused = harness.sweep("elsewhere.db", *ONE_CELL, "--runs", "/tmp/elsewhere.runs")
    check(refused.returncode != 0 and "--runs" in refused.stderr and len(harness.cluster.created) == before,
          f"a folder outside of the volume gives {refused.returncode}: {refused.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("perfbench", type=Path)
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    if not shutil.which("kubectl"):
        print("skipped: there is no kubectl")
        return
    # A shell that starts this in the background ignores the signal, and children would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    perfbench = options.perfbench.resolve()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        os.chdir(name)
        cluster = Cluster(free_ports(1)[0], f"{perfbench.parent}:{os.environ['PATH']}", "perf")
        cluster.start()
        Path("site.yaml").write_text(SITE.format(folder=name))
        Path("config").write_text(json.dumps({**CONTEXT, "clusters": [
            {"name": "fake", "cluster": {"server": f"http://127.0.0.1:{cluster.port}"}}]}))
        os.environ.update(PERFBENCH_SITE=f"{name}/site.yaml", KUBECONFIG=f"{name}/config", HOME=name)
        harness = Harness(perfbench, cluster)
        check_sweep(harness)
        check_folder(harness)
        check_pulled_image(harness)
        check_ends(harness)
        check_preemption(harness)
        check_suspension(harness)
        check_silent_server(harness)
        check_kills(harness.begin, harness.sweep, harness.check_no_job_left, options.kills)
        cluster.stop()
    print("kubernetes: sweeps, faults and kills; no job is left")


if __name__ == "__main__":
    main()
