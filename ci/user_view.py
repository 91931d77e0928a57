#!/usr/bin/env python3
"""Runs a command where nothing is to be found but a bare Debian and the packages of ci/packages.txt.

usage: ci/user_view.py COMMAND [ARGUMENT ...]     in this folder, with what it leaves here and in /tmp

A machine of developers has more than that (a CUDA toolkit, an MPI of its own, somebody's headers in /usr/local), and
what is found there by chance is missed at a user's. So the command sees the machine through an overlay that hides
/usr/local, /opt and the home folder, every file below /usr that no package of the list (or one that it depends on)
has brought, and every environment variable. Exit code 77, and "skipped: ..." with the reason, where a machine allows
no such view; else the command's.
"""
import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HIDDEN = ("/usr/local", "/opt", "/root", "/home")
# Made by packages' scripts and owned by none; nothing is built from them.
GENERATED = ("/usr/lib/locale", "/usr/share/info", "/usr/lib/ssl", "/usr/lib/python3", "/usr/lib/x86_64-linux-gnu/gconv")
SKIPPED = 77


def lines_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def packages_of_users():
    """Names of the installed packages that are part of every Debian, on the list, or that one of these depends on."""
    listed = [line.split()[1] for line in (ROOT / "ci/packages.txt").read_text().splitlines()
              if line and not line.startswith("#")]
    always = [name for name, essential, priority in
              (line.split("\t") for line in lines_of("dpkg-query", "-W", "-f", "${Package}\t${Essential}\t${Priority}\n"))
              if essential == "yes" or priority == "required"]
    needed = lines_of("apt-cache", "depends", "--recurse", "--installed", "--no-recommends", "--no-suggests",
                      "--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", "git", "ca-certificates",
                      *listed, *always)
    installed = {line.split("\t")[0].split(":")[0]: line.split("\t")[0]
                 for line in lines_of("dpkg-query", "-W", "-f", "${binary:Package}\t${Version}\n")}
    names = {line.split(":")[0] for line in needed if line and not line.startswith((" ", "<", "|"))}
    return sorted(installed[name] for name in names if name in installed)


def files_of(packages):
    """What the packages brought and its folders, by real paths: a package may say /lib for /usr/lib."""
    files, folders = set(), {}
    for line in lines_of("dpkg-query", "-L", *packages):
        if not line.startswith("/"):
            continue  # "diverted by ... to: ..."
        folder, name = os.path.split(line)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        files.add(os.path.join(folders[folder], name))
    files.update(folders.values())
    for line in lines_of("dpkg-divert", "--list"):
        files.update(line.split(" to ")[-1].split(" by ")[:1])
    return files


def strangers(kept):
    """Files below /usr, and whole folders, that are not in `kept`. Links stay: one to nowhere finds nothing."""
    for folder, folders, files in os.walk("/usr"):
        for name in list(folders):
            path = os.path.join(folder, name)
            if path in HIDDEN or path.startswith(GENERATED) or os.path.islink(path):
                folders.remove(name)
            elif path not in kept:
                folders.remove(name)
                yield path
        for name in files:
            path = os.path.join(folder, name)
            if path not in kept and not os.path.islink(path):
                yield path


def mount(*arguments):
    done = subprocess.run(("mount", *arguments), capture_output=True, text=True)
    if done.returncode != 0:
        print(f"skipped: mount {' '.join(arguments)}: {done.stderr.strip()}")
        sys.exit(SKIPPED)


def make_view(scratch, kept):
    """The root of the overlay. What was mounted elsewhere must be bound into it once more."""
    mount("-t", "tmpfs", "none", str(scratch))
    upper, work, view = scratch / "upper", scratch / "work", scratch / "view"
    for folder in (upper, work, view):
        folder.mkdir()
    for path in strangers(kept):
        whiteout = upper / path[1:]
        whiteout.parent.mkdir(parents=True, exist_ok=True)
        os.mknod(whiteout, stat.S_IFCHR, os.makedev(0, 0))
    caches = os.environ.get("CCACHE_DIR") or os.path.expanduser("~/.cache/ccache")
    os.makedirs(caches, exist_ok=True)
    mount("-t", "overlay", "overlay", "-o", f"lowerdir=/,upperdir={upper},workdir={work}", str(view))
    for folder in HIDDEN:
        if os.path.isdir(folder):
            mount("-t", "tmpfs", "none", f"{view}{folder}")
    for folder in ("/proc", "/sys", "/dev", "/tmp", str(ROOT), caches):
        os.makedirs(f"{view}{folder}", exist_ok=True)
        mount("--rbind", folder, f"{view}{folder}")
    return view, caches


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        print("skipped: hiding files from a command takes root")
        return SKIPPED
    scratch = os.environ.get("PERFBENCH_VIEW_FOLDER")
    if scratch is None:  # once more, with mounts of its own, which end with it and leave the folder empty
        allowed = subprocess.run(["unshare", "--mount", "true"], capture_output=True, text=True)
        if allowed.returncode != 0:
            print(f"skipped: {allowed.stderr.strip()}")
            return SKIPPED
        scratch = tempfile.mkdtemp()
        again = ["unshare", "--mount", sys.executable, __file__, *sys.argv[1:]]
        code = subprocess.run(again, env={**os.environ, "PERFBENCH_VIEW_FOLDER": scratch}).returncode
        os.rmdir(scratch)
        return code
    view, caches = make_view(Path(scratch), files_of(packages_of_users()))
    environment = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TERM": "dumb", "CCACHE_DIR": caches}
    os.chroot(view)
    os.chdir(ROOT)
    os.execvpe(sys.argv[1], sys.argv[1:], environment)


if __name__ == "__main__":
    sys.exit(main())
