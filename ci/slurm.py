#!/usr/bin/env python3
"""Sweeps and comparisons in jobs of a real Slurm: two nodes on this machine, faults of every kind, and nothing left.

usage: ci/slurm.py PERFBENCH [--kills N] [--slow]

Starts munged, slurmctld and two slurmd in a temporary folder, with ports of their own, and ends them again. Where they
are not installed or cannot run, this says so and ends well. --kills is the number of random kills of perfbench, --slow
adds the time limit of a job, which Slurm counts in minutes.
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATIENCE_S = 120
QUICKSTART = Path(__file__).resolve().parent.parent / "matrices" / "quickstart.yaml"
ONE_CELL = ["--only", "model=gpt-mini", "--only", "attention=flash", "--only", "remat=none"]
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "scancel")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def configuration(folder, ports):
    host = socket.gethostname().split(".")[0]
    lines = [
        "ClusterName=perfbench", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", f"SlurmctldPort={ports[0]}",
        "AuthType=auth/munge", f"AuthInfo=socket={folder}/munge.socket", f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool.%n", f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd.%n.pid", f"SlurmctldLogFile={folder}/slurmctld.log",
        f"SlurmdLogFile={folder}/slurmd.%n.log", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none",
        "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "ReturnToService=2", "MpiDefault=none",
        "KillWait=5", "MinJobAge=300", "PartitionName=main Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP",
    ]
    for number in (1, 2):
        lines.append(f"NodeName=n{number} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[number]} CPUs=2")
    return "\n".join(lines) + "\n"


class Cluster:
    def __init__(self, folder):
        self.folder = folder
        (folder / "munge.key").write_bytes(os.urandom(128))
        (folder / "munge.key").chmod(0o600)
        for name in ("state", "spool.n1", "spool.n2"):
            (folder / name).mkdir()
        (folder / "slurm.conf").write_text(configuration(folder, free_ports(3)))
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
        self.daemons = {}

    def start(self, name, *words):
        log = (self.folder / f"{name}.out").open("w")
        self.daemons[name] = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)

    def start_munge(self):
        files = {name: f"--{name}={self.folder}/munge.{name.split('-')[0]}"
                 for name in ("key-file", "socket", "pid-file", "log-file", "seed-file")}
        self.start("munged", "munged", "--foreground", "--force", *files.values())

    def start_controller(self):
        self.start("slurmctld", "slurmctld", "-D")

    def start_node(self, node):
        self.start(node, "slurmd", "-D", "-N", node)

    def end_daemon(self, name, by=signal.SIGKILL):
        daemon = self.daemons.pop(name)
        daemon.send_signal(by)
        daemon.wait()

    def wait_until_idle(self):
        """Why the nodes do not come up; empty if they do."""
        until = time.monotonic() + 30
        while time.monotonic() < until:
            seen = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%T"], capture_output=True, text=True)
            if seen.stdout.split() == ["idle", "idle"]:
                return ""
            for name, daemon in self.daemons.items():
                if daemon.poll() is not None:
                    return f"{name} ended: {(self.folder / f'{name}.out').read_text().strip().splitlines()[-1:]}"
            time.sleep(0.2)
        return f"its nodes are {seen.stdout.split()} {seen.stderr.strip()}"

    def end(self):
        subprocess.run(["scancel", "--user=root"], capture_output=True)
        for name in list(self.daemons):
            self.end_daemon(name)


def why_not(cluster):
    """Why Slurm does not run here; empty if it does."""
    if os.geteuid() != 0:
        return "its daemons need root"
    cluster.start_munge()
    until = time.monotonic() + 10
    while not (cluster.folder / "munge.socket").exists() and time.monotonic() < until:
        time.sleep(0.1)
    cluster.start_controller()
    cluster.start_node("n1")
    cluster.start_node("n2")
    return cluster.wait_until_idle()


def check(holds, what):
    if not holds:
        sys.exit(f"slurm: {what}")


def rows(db, sql):
    with contextlib.closing(sqlite3.connect(db)) as connection:
        return connection.execute(sql).fetchall()


def jobs():
    return subprocess.run(["squeue", "--noheader", "--format=%i %T"], capture_output=True, text=True).stdout.split("\n")[:-1]


def wait_for(what, condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < until, f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.05)


def check_no_job_left(after):
    wait_for(f"the end of all jobs after {after}", lambda: not jobs())


class Harness:
    def __init__(self, perfbench):
        self.perfbench = perfbench

    def words(self, command, db, *more):
        return [self.perfbench, command, str(QUICKSTART), "--launcher", "slurm", "--db", db, *more]

    def run(self, command, db, *more):
        return subprocess.run(self.words(command, db, *more), capture_output=True, text=True, timeout=10 * PATIENCE_S)

    def begin(self, db, *more):
        return subprocess.Popen(self.words("sweep", db, *more), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, start_new_session=True)


def begun(db):
    return list(Path(db).with_suffix(".runs").glob("sessions/*/begun.*"))


def check_sweep(harness):
    ended = harness.run("sweep", "sweep.db", "--jobs", "2")
    check(ended.returncode == 0 and "12 ok" in ended.stdout, f"a sweep gives {ended.returncode}: {ended.stderr}")
    places = rows("sweep.db", "SELECT launcher, count(*), count(DISTINCT job) FROM attempt_jobs GROUP BY launcher")
    check(places == [("slurm", 12, 2)], f"the jobs of a sweep are {places}")
    check_no_job_left("a sweep")


def check_comparison(harness):
    ended = subprocess.run([harness.perfbench, "compare", "--ab", "current", "inject:slow:span=matmul,fraction=0.5",
                            str(QUICKSTART), *ONE_CELL, "--launcher", "slurm", "--db", "pairs.db", "--format", "json"],
                           capture_output=True, text=True)
    # Other work on this machine may leave it undecided, but does not hide half of the time of the products.
    check(ended.returncode in (1, 2), f"a planted slowdown gives {ended.returncode}: {ended.stdout}{ended.stderr}")
    (step,) = [one for one in json.loads(ended.stdout)["cells"][0]["metrics"] if one["metric"] == "step_time_s"]
    check(step["ratio"] > 1.2, f"a planted slowdown of half of the products changes a step by {step['ratio']}")
    places = rows("pairs.db", "SELECT count(DISTINCT job), count(DISTINCT nodes) FROM attempt_jobs")
    check(places == [(1, 1)], f"the pairs ran in {places} jobs and nodes")
    check_no_job_left("a comparison")


def check_two_nodes(harness):
    """mpirun spans the nodes of a job, and the engine knows where one ends."""
    for mesh, state in (("dcn_dp", "ok"), ("dp", "infeasible")):
        Path(f"{mesh}.yaml").write_text("name: two\n"
                                        f"defaults: {{model: gpt-tiny, seq_len: 64, global_batch: 4, steps: 3, {mesh}: 2}}\n")
        ended = subprocess.run([harness.perfbench, "sweep", f"{mesh}.yaml", "--launcher", "slurm", "--db", f"{mesh}.db",
                                "--launch-option=--nodes=2", "--launch-option=--ntasks-per-node=1"],
                               capture_output=True, text=True)
        found = rows(f"{mesh}.db", "SELECT state, nodes FROM attempts JOIN attempt_jobs USING (attempt_key)")
        check(found == [(state, "n[1-2]")], f"{mesh} over two nodes is {found}: {ended.stderr}")
    check_no_job_left("sweeps over two nodes")


NODE_PROGRAM = """name: two
program:
  command: [sh, -c, 'echo "node $1 of {node_count} after $2"', sh, '{node_rank}', '{coordinator}']
defaults: {dcn_dp: 2}
"""


def submit(file):
    """Submits a launch file and returns its log after its end."""
    job = subprocess.run(["sbatch", "--parsable", str(file)], capture_output=True, text=True)
    check(job.returncode == 0, f"sbatch refuses {file}: {job.stderr}\n{file.read_text()}")
    check_no_job_left(file.name)
    return Path(f"{file.stem}-{job.stdout.strip()}.log").read_text()


def check_launch_files(harness):
    """sbatch takes the files of `perfbench launch`, and what they start has its place in the job."""
    words = [harness.perfbench, "launch", "--render", "slurm", "--into", "jobs"]
    written = subprocess.run([*words, "quickstart", *ONE_CELL], capture_output=True, text=True)
    check(written.returncode == 0, f"launch gives {written.returncode}: {written.stderr}")
    log = submit(Path(written.stdout.strip()))
    subprocess.run([harness.perfbench, "ingest", ".", "--db", "launched.db"], capture_output=True)
    found = rows("launched.db", "SELECT state FROM attempts JOIN cells USING (cell_key) WHERE matrix = 'quickstart'")
    check(("ok",) in found, f"the job of a launch file leaves {found}: {log}")

    Path("two.yaml").write_text(NODE_PROGRAM)
    written = subprocess.run([*words, "two.yaml"], capture_output=True, text=True)
    check(written.returncode == 0, f"launch of a program gives {written.returncode}: {written.stderr}")
    log = submit(Path(written.stdout.strip()))
    for line in ("0: node 0 of 2 after n1", "1: node 1 of 2 after n1"):
        check(line in log.splitlines(), f"'{line}' is not in {log}")
    refused = subprocess.run([harness.perfbench, "sweep", "two.yaml", "--db", "refused.db"], capture_output=True,
                             text=True)
    found = rows("refused.db", "SELECT state, reason FROM attempts")
    check(len(found) == 1 and found[0][0] == "infeasible" and "perfbench launch" in found[0][1],
          f"a sweep of a program of two nodes is {found}: {refused.stderr}")


def check_nights(harness):
    """The cells and the control of a night run in one job."""
    for night in (1, 2):
        ended = subprocess.run([harness.perfbench, "nightly", str(QUICKSTART), *ONE_CELL, "--launcher", "slurm", "--db",
                                "night.db"], capture_output=True, text=True)
        check(ended.returncode == 2, f"night {night} gives {ended.returncode}: {ended.stdout}{ended.stderr}")
        check_no_job_left("a night")
    found = rows("night.db", "SELECT job, group_concat(DISTINCT kind) FROM (SELECT job, kind FROM attempts JOIN attempt_jobs "
                 "USING (attempt_key) JOIN sweeps USING (sweep_key) ORDER BY kind) GROUP BY job")
    check([kinds for _, kinds in found] == ["control,night"] * 2, f"the jobs of two nights are {found}")


def check_kills(harness, count):
    """perfbench is killed at a random moment; afterwards nothing is missing, twice or running."""
    seed = random.randrange(2**32)
    print(f"slurm: {count} kills, seed {seed}")
    chance = random.Random(seed)
    for number in range(count):
        db = f"kill{number}.db"
        killed = harness.begin(db, "--only", "model=gpt-mini")
        time.sleep(chance.uniform(0.0, 4.0))
        killed.kill()
        killed.communicate()
        ended = harness.run("sweep", db, "--only", "model=gpt-mini", "--resume")
        check(ended.returncode == 0, f"kill {number}: resumed, it gives {ended.returncode}: {ended.stderr}")
        found = rows(db, "SELECT state, count(*), count(DISTINCT run_key) FROM attempts GROUP BY state")
        check(found == [("ok", 6, 6)], f"kill {number}: the attempts are {found}")
        check_no_job_left(f"kill {number}")


def check_cancelled_job(harness):
    """Somebody cancels the job."""
    sweep = harness.begin("cancelled.db", *ONE_CELL, "--set", "steps=2000")
    wait_for("an attempt", lambda: begun("cancelled.db"))
    subprocess.run(["scancel", *[job.split()[0] for job in jobs()]], check=True)
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    check(sweep.returncode == 4, f"a cancelled job gives {sweep.returncode}: {said}")
    found = rows("cancelled.db", "SELECT state FROM attempts")
    check(found == [("cancelled",)], f"the attempt of a cancelled job is {found}: {said}")


def check_interruption(harness):
    """Ctrl-C ends the job, too."""
    sweep = harness.begin("interrupted.db", *ONE_CELL, "--set", "steps=2000")
    wait_for("an attempt", lambda: begun("interrupted.db"))
    sweep.send_signal(signal.SIGINT)
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    found = rows("interrupted.db", "SELECT state FROM attempts")
    check(sweep.returncode == 4 and found == [("cancelled",)], f"Ctrl-C gives {sweep.returncode}, {found}: {said}")
    check_no_job_left("Ctrl-C")


def check_dead_node(harness, cluster):
    """A node dies: its attempt is lost, and the next job, on the other node, makes the rest."""
    sweep = harness.begin("node.db", "--only", "model=gpt-mini", "--set", "steps=150")
    wait_for("an attempt", lambda: begun("node.db"))
    node = subprocess.run(["squeue", "--noheader", "--format=%N"], capture_output=True, text=True).stdout.split()[0]
    cluster.end_daemon(node)
    subprocess.run(["scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test"], check=True)
    subprocess.run(["pkill", "-9", "-f", "worker .*/node.runs/"], check=True)
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    other = "n1" if node == "n2" else "n2"
    found = sorted(rows("node.db", "SELECT state, nodes, count(*) FROM attempts JOIN attempt_jobs USING (attempt_key) "
                        "GROUP BY state, nodes"))
    check(found == [("crashed", node, 1), ("ok", other, 5)] and "NODE_FAIL" in said,
          f"after the death of {node} the attempts are {found}: {said}")
    resumed = harness.run("sweep", "node.db", "--only", "model=gpt-mini", "--set", "steps=150", "--resume")
    check(resumed.returncode == 0, f"resumed after the death of a node: {resumed.stderr}")
    cluster.start_node(node)
    subprocess.run(["scontrol", "update", f"NodeName={node}", "State=RESUME"], check=True)
    check(not cluster.wait_until_idle(), "the node does not come back")


def check_restarted_controller(harness, cluster):
    sweep = harness.begin("controller.db", "--only", "model=gpt-mini", "--set", "steps=100")
    wait_for("an attempt", lambda: begun("controller.db"))
    cluster.end_daemon("slurmctld", signal.SIGTERM)
    done = len(begun("controller.db"))
    wait_for("another attempt without a controller", lambda: len(begun("controller.db")) > done)
    cluster.start_controller()
    said = sweep.communicate(timeout=PATIENCE_S)[1]
    check(sweep.returncode == 0, f"with a restarted controller a sweep gives {sweep.returncode}: {said}")
    check_no_job_left("a restart of the controller")


def check_time_limit(harness):
    """The job's minute ends within an attempt, and another job makes the rest."""
    ended = harness.run("sweep", "limit.db", "--only", "model=gpt-mini", "--only", "attention=flash", "--set",
                        "steps=1500", "--launch-option=--time=1")
    found = dict(rows("limit.db", "SELECT state, count(*) FROM attempts GROUP BY state"))
    check(found.get("timed_out", 0) >= 1 and sum(found.values()) == 3, f"with a minute a job makes {found}: {ended.stderr}")
    check("TIMEOUT" in ended.stderr, f"the end of the job is not told: {ended.stderr}")
    check_no_job_left("a time limit")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("perfbench", type=Path)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--slow", action="store_true")
    options = parser.parse_args()
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}")
        return
    # A shell that starts this in the background ignores the signal, and children would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    harness = Harness(options.perfbench.resolve())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        cluster = Cluster(Path(name))
        try:
            reason = why_not(cluster)
            if reason:
                print(f"skipped: Slurm does not run here: {reason}")
                return
            os.chdir(name)
            check_sweep(harness)
            check_comparison(harness)
            check_two_nodes(harness)
            check_launch_files(harness)
            check_nights(harness)
            check_interruption(harness)
            check_cancelled_job(harness)
            check_restarted_controller(harness, cluster)
            check_dead_node(harness, cluster)
            check_kills(harness, options.kills)
            if options.slow:
                check_time_limit(harness)
        finally:
            cluster.end()
    print("slurm: sweeps, pairs, faults and kills; no job is left")


if __name__ == "__main__":
    main()
