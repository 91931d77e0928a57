#!/usr/bin/env python3
"""Builds the image of containers/Containerfile and runs the quickstart in it: directly, as its own user, without root,
and by the launcher under limits.

usage: ci/image.py PERFBENCH

Podman keeps everything in a temporary folder. The Debian of the image comes from this machine's package mirror
(mmdebstrap), so that no registry of images is needed. Where podman runs no container, this says so and ends well.
"""
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import containers

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "matrices" / "quickstart.yaml"
IMAGE = "localhost/perfbench"


def check(holds, what):
    if not holds:
        sys.exit(f"image: {what}")


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    check(done.returncode == 0, f"{' '.join(str(word) for word in words[:6])} ... gives {done.returncode}: "
          f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def make_base(folder):
    tar = folder / "debian.tar"
    run("mmdebstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", tar)
    run("podman", "import", tar, "docker.io/library/debian:12")
    tar.unlink()


def build(folder):
    context = folder / "context"
    run("git", "clone", "--quiet", ROOT, context)
    commit = run("git", "-C", ROOT, "rev-parse", "HEAD").strip()
    run("podman", "build", "--isolation=chroot", "--network=host", "--file", context / "containers/Containerfile",
        "--build-arg", f"COMMIT={commit}", "--tag", IMAGE, context)
    label = run("podman", "image", "inspect", "--format", '{{index .Labels "org.opencontainers.image.revision"}}', IMAGE)
    check(label.strip() == commit, f"the image is of commit {label}")


def check_own_user():
    check(run("podman", "run", "--rm", "--entrypoint", "id", IMAGE, "--user", "--name").strip() == "perfbench",
          "its user is another one")
    said = run("podman", "run", "--rm", IMAGE, "sweep", "quickstart", "--only", "model=gpt-mini")
    check("6 ok" in said, f"its own user measures: {said[-2000:]}")
    packages = run("podman", "run", "--rm", "--entrypoint", "cat", IMAGE, "/usr/share/perfbench-packages.tsv")
    check("libdnnl" in packages and "g++" not in packages, "its packages are not those of the runtime")


def check_mounted(folder):
    run("podman", "run", "--rm", "--user=0", f"--volume={folder}:/work", "--workdir=/work", IMAGE, "sweep", "quickstart",
        "--only", "model=gpt-mini", "--db", "inside.db")
    check((folder / "inside.db").exists(), "a database in a mounted folder is not there")


def check_launcher(perfbench, folder):
    limit = 3 * 2**30
    run(perfbench, "sweep", QUICKSTART, "--launcher", "podman", "--image", IMAGE, f"--launch-option=--memory={limit}",
        "--db", "outside.db", cwd=folder)
    with sqlite3.connect(folder / "outside.db") as db:
        (attempts, available) = db.execute("SELECT count(*), max(memory_available_bytes) FROM attempts JOIN attempt_jobs "
                                           "USING (attempt_key) WHERE state = 'ok' AND launcher = 'podman'").fetchone()
    check(attempts == 12, f"the launcher made {attempts} of 12 attempts")
    check(available <= limit, f"the records show {available} bytes of memory under a limit of {limit}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    perfbench = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        reason = containers.why_not(folder) or ("" if shutil.which("mmdebstrap") else "there is no mmdebstrap")
        if reason:
            print(f"skipped: podman runs no container here: {reason.splitlines()[-1]}")
            return
        make_base(folder)
        build(folder)
        check_own_user()
        check_mounted(folder)
        check_launcher(perfbench, folder)
    print("image: built, and measured inside as its own user, as root, and by the launcher under a limit of memory")


if __name__ == "__main__":
    main()
