#!/usr/bin/env python3
"""Training programs in real containers of podman: measured, compared by image, and removed whatever ends them.

usage: ci/containers.py PERFBENCH

The image holds busybox alone, so that no registry is needed. Podman keeps it in a temporary folder. Where podman cannot
run a container, as in a chroot, this says so and ends well.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from acceptance import PATIENCE_S, check, rows, wait_for

SCRIPT = """i=0
while [ $i -lt 20 ]; do
  echo "iter $i: loss 2.0, time $(cat /milliseconds).1$((i % 3))ms, mfu -100.00%"
  i=$((i+1))
done
"""
MATRIX = """name: images
program:
  command: [sh, "{cwd}/train.sh"]
  reader: nanogpt
  container: {image: "localhost/trainer:{tag}"}
axes: {tag: [50, 60]}
"""


def podman(*words, **more):
    command = ["podman", *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, **more)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", f"no answer in {PATIENCE_S} s")


def configure(folder):
    """Limits and namespaces that podman can have on a machine which is itself a container."""
    lines = ["[containers]", 'default_ulimits=["nofile=1024:1024","nproc=4096:4096"]', 'netns="none"', "[engine]",
             'cgroup_manager="cgroupfs"', 'events_logger="file"']
    if shutil.which("runc"):
        lines.append('runtime="runc"')
    (folder / "containers.conf").write_text("\n".join(lines) + "\n")
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver="vfs"\ngraphroot="{folder}/images"\nrunroot="{folder}/state"\n')
    os.environ["CONTAINERS_CONF"] = str(folder / "containers.conf")
    os.environ["CONTAINERS_STORAGE_CONF"] = str(folder / "storage.conf")


def make_image(folder, milliseconds):
    root = folder / f"root{milliseconds}"
    (root / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin")
    for name in ("sh", "cat", "sleep"):
        (root / "bin" / name).symlink_to("busybox")
    (root / "milliseconds").write_text(str(milliseconds))
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
        return podman("import", "-", f"localhost/trainer:{milliseconds}", stdin=tar.stdout)


def why_not(folder):
    """Why no container runs here; empty if one does."""
    for name in ("podman", "busybox"):
        if not shutil.which(name):
            return f"there is no {name}"
    configure(folder)
    for milliseconds in (50, 60):
        made = make_image(folder, milliseconds)
        if made.returncode != 0:
            return made.stderr.strip()
    tried = podman("run", "--rm", "--init", "localhost/trainer:50", "sh", "-c", "exit 7")
    return "" if tried.returncode == 7 else tried.stderr.strip() or f"exit code {tried.returncode}"


def check_nothing_left(after):
    left = podman("ps", "--all", "--format", "{{.Names}} {{.Status}}").stdout.strip()
    check(not left, f"after {after} a container is left: {left}")


def check_measured(perfbench):
    subprocess.run([perfbench, "sweep", "m.yaml"], check=True)
    report = json.loads(subprocess.run([perfbench, "report", "--format", "json"], check=True, capture_output=True).stdout)
    times = [round(row["step_time_s"], 5) for row in report["rows"]]
    check(times == [0.05011, 0.06011], f"step times are {times}")
    images = {row["subject"] for row in report["rows"]}
    check(len(images) == 2, f"two images are the subjects {images}")
    check_nothing_left("a sweep")


def check_memory(perfbench):
    """Busybox takes a megabyte or two; the client of podman, which does not count, takes thirty."""
    subprocess.run([perfbench, "run", "--repeats", "1", "--image", "localhost/trainer:50", "--", "sleep", "1"], check=True)
    ((resident,),) = rows("c.db", "SELECT value FROM metrics JOIN names USING (name_key) WHERE name = 'resident_bytes' "
                          "ORDER BY attempt_key DESC LIMIT 1")
    check(0 < resident < 16 * 2**20, f"the program took {resident} bytes")


def check_time_limit(perfbench):
    ended = subprocess.run([perfbench, "run", "--repeats", "1", "--timeout", "1s", "--image", "localhost/trainer:50", "--",
                            "sleep", "1000"], capture_output=True, text=True, timeout=PATIENCE_S)
    check(ended.returncode == 4 and "timed_out" in ended.stderr, f"a time limit gives {ended.returncode}: {ended.stderr}")
    check_nothing_left("a time limit")


def check_kill(perfbench):
    """The client and perfbench are killed; a daemon of the runtime would keep the container."""
    with subprocess.Popen([perfbench, "run", "--repeats", "1", "--image", "localhost/trainer:50", "--", "sleep", "1000"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
        wait_for("a container", lambda: "perfbench-" in podman("ps", "--format", "{{.Names}}").stdout)
        killed.send_signal(signal.SIGKILL)
    wait_for("the end of the container of a killed perfbench", lambda: not podman("ps", "--all", "--quiet").stdout)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    perfbench = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        reason = why_not(folder)
        if reason:
            print(f"skipped: podman runs no container here: {reason.splitlines()[-1]}")
            return
        os.chdir(folder)
        os.environ["PERFBENCH_DB"] = "c.db"
        Path("train.sh").write_text(SCRIPT)
        Path("m.yaml").write_text(MATRIX)
        for step in (check_measured, check_memory, check_time_limit, check_kill):
            step(perfbench)
        print("containers: measured, and removed after a sweep, a time limit and a kill")


if __name__ == "__main__":
    main()
