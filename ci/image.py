#!/usr/bin/env python3
"""Builds the images of containers/Containerfile and runs the quickstart: directly, as the image's own user, by podman
without root, and by the launcher under limits.

usage: ci/image.py PERFBENCH

Podman keeps everything in a temporary folder. The Debian of the image comes from this machine's package mirror
(mmdebstrap), so that no registry of images is needed. Where podman runs no container, this says so and ends well.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import containers
from acceptance import QUICKSTART, check, rows

ROOT = Path(__file__).resolve().parent.parent
IMAGE = "localhost/perfbench"
ADAPTER = "localhost/perfbench-adapter"
NOBODY = 65534


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
    for target, image in (("runtime", IMAGE), ("adapter", ADAPTER)):
        run("podman", "build", "--isolation=chroot", "--network=host", "--file", context / "containers/Containerfile",
            "--build-arg", f"COMMIT={commit}", "--target", target, "--tag", image, context)
        label = run("podman", "image", "inspect", "--format", '{{index .Labels "org.opencontainers.image.revision"}}', image)
        check(label.strip() == commit, f"the image {image} is of commit {label}")


def check_adapter():
    """It has nothing but the adapter."""
    facts = json.loads(run("podman", "run", "--rm", ADAPTER, "env"))
    check("cpu_model" in facts, f"the adapter says {facts}")
    tried = containers.podman("run", "--rm", "--entrypoint", "/bin/sh", ADAPTER, "-c", "true")
    check(tried.returncode != 0, "the adapter's image has a shell")


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


def check_rootless(folder):
    """Podman of a user without root, whose container's root is that user."""
    archive, home = folder / "image.tar", folder / "home"
    run("podman", "save", "--output", archive, IMAGE)
    archive.chmod(0o644)
    folder.chmod(0o755)
    for path in (home, home / "run", home / "work"):
        path.mkdir()
        os.chown(path, NOBODY, NOBODY)
    (home / "storage.conf").write_text(
        f'[storage]\ndriver="vfs"\ngraphroot="{home}/images"\nrunroot="{home}/run/state"\n'
        '[storage.options.vfs]\nignore_chown_errors="true"\n')  # a user who has one id only
    as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "cwd": home / "work",
               "env": {"PATH": os.environ["PATH"], "HOME": str(home), "XDG_RUNTIME_DIR": str(home / "run"),
                       "CONTAINERS_CONF": os.environ["CONTAINERS_CONF"],
                       "CONTAINERS_STORAGE_CONF": str(home / "storage.conf")}}
    run("podman", "load", "--input", archive, **as_user)
    archive.unlink()
    said = run("podman", "run", "--rm", "--user=0", f"--volume={home}/work:/work", "--workdir=/work", IMAGE, "sweep",
               "quickstart", "--only", "model=gpt-mini", "--db", "rootless.db", **as_user)
    check("6 ok" in said, f"without root it measures: {said[-2000:]}")
    owner = (home / "work" / "rootless.db").stat().st_uid
    check(owner == NOBODY, f"the database of a user without root belongs to {owner}")


def check_launcher(perfbench, folder):
    limit = 3 * 2**30
    run(perfbench, "sweep", QUICKSTART, "--launcher", "podman", "--image", IMAGE, f"--launch-option=--memory={limit}",
        "--db", "outside.db", cwd=folder)
    ((attempts, available, image),) = rows(
        folder / "outside.db", "SELECT count(*), max(memory_available_bytes), max(image) FROM attempts JOIN attempt_jobs "
        "USING (attempt_key) WHERE state = 'ok' AND launcher = 'podman'")
    known = run("podman", "image", "inspect", "--format", "{{.Id}}", IMAGE).strip()
    check(image.removeprefix("sha256:") == known, f"the records name the image {image}, and podman {known}")
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
        check_adapter()
        check_own_user()
        check_rootless(folder)
        check_mounted(folder)
        check_launcher(perfbench, folder)
    print("image: built, and measured inside as its own user, as root, without root, and by the launcher under a limit of "
          "memory")


if __name__ == "__main__":
    main()
