#!/usr/bin/env python3
"""Sweeps and comparisons in jobs of a real Slurm: two nodes on this machine, faults of every kind, and nothing left.

usage: ci/slurm.py PERFBENCH [--kills N] [--slow]

Starts munged, slurmctld and two slurmd in a temporary folder, with ports of their own, and ends them again. Where they
are not installed or cannot run, this says so and ends well. --kills is the number of random kills of perfbench, --slow
adds the time limit of a job, which Slurm counts in minutes.
"""
import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path

from acceptance import ONE_CELL, PATIENCE_S, QUICKSTART, begun, check, check_kills, free_ports, rows, wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "scancel")


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


def jobs():
    return subprocess.run(["squeue", "--noheader", "--format=%i %T"], capture_output=True, text=True).stdout.split("\n")[:-1]


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
    check(step["ratio"], f"no pair was undisturbed by other work on this machine: {ended.stderr}")
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


NODE_TRAINER = """name: nodes
program:
  command: [sh, -c, 'echo "node $1/$NODE of {node_count} after $COORDINATOR"; for i in 0 1 2 3 4; do
            echo "iter $i: loss 2.0, time 50.$i"ms, mfu -100.00%; done', sh, '{node_rank}']
  env: {NODE: '{node_rank}', COORDINATOR: '{coordinator}'}
  reader: nanogpt
defaults: {dcn_dp: 2}
"""


# One process a rank: Slurm's proctrack/linuxproc loses sight of a child whose parent was killed first.
STUBBORN_PROGRAM = """name: stubborn
program: {command: [sh, -c, "trap '' TERM; exec sleep 98765", '{node_rank}']}
defaults: {dcn_dp: 2}
"""


def check_program_on_nodes(harness):
    """A program of two nodes is started on each of them, with its number and the first node's address."""
    Path("nodes.yaml").write_text(NODE_TRAINER)
    words = [harness.perfbench, "sweep", "nodes.yaml"]
    ended = subprocess.run([*words, "--launcher", "slurm", "--launch-option=--nodes=2", "--db", "nodes.db"],
                           capture_output=True, text=True)
    found = rows("nodes.db", "SELECT state, nodes FROM attempts JOIN attempt_jobs USING (attempt_key)")
    logs = "".join(path.read_text() for path in Path().glob("nodes.runs/*/*/program.log"))
    check(found == [("ok", "n[1-2]")], f"a program of two nodes is {found}: {ended.stderr}\n{logs}")
    for node in (0, 1):
        check(f"{node}: node {node}/{node} of 2 after n1\n" in logs, f"node {node} is not in {logs}")
    check_no_job_left("a program of two nodes")

    Path("stubborn.yaml").write_text(STUBBORN_PROGRAM)
    ended = subprocess.run([harness.perfbench, "sweep", "stubborn.yaml", "--timeout", "3s", "--launcher", "slurm",
                            "--launch-option=--nodes=2", "--db", "stubborn.db"], capture_output=True, text=True)
    found = rows("stubborn.db", "SELECT state FROM attempts")
    check(found == [("timed_out",)], f"a program that ignores SIGTERM is {found}: {ended.stderr}")
    wait_for("the end of its ranks", lambda: subprocess.run(["pgrep", "-f", "sleep 98765"], stdout=subprocess.DEVNULL).returncode == 1)
    check_no_job_left("a program that ignores SIGTERM")

    narrow = subprocess.run([*words, "--launcher", "slurm", "--db", "narrow.db"], capture_output=True, text=True)
    ((state, reason),) = rows("narrow.db", "SELECT state, reason FROM attempts")
    check(state == "crashed" and "--launch-option=--nodes=2" in reason,
          f"a program of two nodes on one is {state}, {reason}: {narrow.stderr}")
    check_no_job_left("a program of two nodes in a job of one")
    here = subprocess.run([*words, "--db", "refused.db"], capture_output=True, text=True)
    ((state, reason),) = rows("refused.db", "SELECT state, reason FROM attempts")
    check(state == "infeasible" and "--launcher slurm" in reason,
          f"a program of two nodes here is {state}, {reason}: {here.stderr}")


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


def check_clock(harness):
    """The clock of the nodes is an hour ahead of the one here."""
    (library,) = Path("/usr/lib").glob("*-linux-gnu/faketime/libfaketime.so.1")
    ended = harness.run("sweep", "clock.db", *ONE_CELL, f"--launch-option=--export=ALL,LD_PRELOAD={library},FAKETIME=+1h")
    check(ended.returncode == 0, f"with a clock ahead a sweep gives {ended.returncode}: {ended.stderr}")
    ((started, step_s),) = rows("clock.db", "SELECT started_utc, value FROM attempts JOIN metrics USING (attempt_key) "
                                "JOIN names USING (name_key) WHERE name = 'step_time_s'")
    ahead_s = datetime.fromisoformat(started).timestamp() - time.time()
    check(3000 < ahead_s < 3700 and step_s < 60, f"an attempt began {ahead_s} s from now, with steps of {step_s} s")
    # A later attempt with an earlier time of beginning.
    ended = subprocess.run([harness.perfbench, "sweep", str(QUICKSTART), *ONE_CELL, "--db", "clock.db"], capture_output=True,
                           text=True)
    check(ended.returncode == 0, f"after a clock ahead a sweep gives {ended.returncode}: {ended.stderr}")
    for command in ("report", "list"):
        shown = subprocess.run([harness.perfbench, command, "--db", "clock.db"], capture_output=True, text=True)
        check(shown.returncode == 0, f"after a clock ahead {command} gives {shown.returncode}: {shown.stderr}")


def check_full_disk(harness):
    """The disk of the run directories fills up within an attempt. Later there is room again."""
    Path("disk").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", "disk"], check=True)
    try:
        words = ["--runs", "disk/runs", "--only", "model=gpt-mini"]
        sweep = harness.begin("disk.db", *words, "--set", "steps=300")
        wait_for("an attempt", lambda: list(Path("disk/runs").glob("sessions/*/begun.*")))
        subprocess.run(["dd", "if=/dev/zero", "of=disk/filling", "bs=64k"], capture_output=True)
        said = sweep.communicate(timeout=PATIENCE_S)[1]
        check(sweep.returncode in (3, 4), f"on a full disk a sweep gives {sweep.returncode}: {said}")
        check("No space left" in said, f"a full disk is not told: {said}")
        check_no_job_left("a full disk")
        Path("disk/filling").unlink()
        ended = harness.run("sweep", "disk.db", *words, "--set", "steps=300", "--resume")
        check(ended.returncode == 0, f"with room again a sweep gives {ended.returncode}: {ended.stderr}")
        found = dict(rows("disk.db", "SELECT state, count(DISTINCT run_key) FROM attempts GROUP BY state"))
        check(found.get("ok") == 6, f"with room again the attempts are {found}")
        check_no_job_left("a disk with room again")
    finally:
        subprocess.run(["umount", "--lazy", "disk"], check=True)


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
            check_program_on_nodes(harness)
            check_nights(harness)
            check_interruption(harness)
            check_cancelled_job(harness)
            check_full_disk(harness)
            if list(Path("/usr/lib").glob("*-linux-gnu/faketime/libfaketime.so.1")):
                check_clock(harness)
            else:
                print("skipped: a node with a clock of its own, because there is no libfaketime")
            check_restarted_controller(harness, cluster)
            check_dead_node(harness, cluster)
            check_kills(harness.begin, lambda *words: harness.run("sweep", *words), check_no_job_left, options.kills)
            if options.slow:
                check_time_limit(harness)
        finally:
            cluster.end()
    print("slurm: sweeps, pairs, faults and kills; no job is left")


if __name__ == "__main__":
    main()
