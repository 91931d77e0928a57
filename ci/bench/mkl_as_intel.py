"""MKL chooses slower kernels on a CPU that is not Intel's, whatever that CPU can do. A peer deserves its fastest ones: a
library loaded before MKL answers the question on which the choice depends."""

import argparse
import os
import pathlib
import shutil
import subprocess

QUESTION = "mkl_serv_intel_cpu_true"


def is_other_x86(cpuinfo):
    """Whether this text of /proc/cpuinfo is of a CPU that MKL runs on and that is not Intel's."""
    vendors = {line.split(":")[1].strip() for line in cpuinfo.splitlines() if line.startswith("vendor_id")}
    return bool(vendors) and "GenuineIntel" not in vendors


def add_option(parser):
    helps = is_other_x86(pathlib.Path("/proc/cpuinfo").read_text()) and shutil.which("cc") is not None
    parser.add_argument("--mkl-as-intel", action=argparse.BooleanOptionalAction, default=helps,
                        help="let PyTorch's MKL take the kernels it has for Intel's CPUs; default: where the CPU is "
                             "another's and there is a cc")


def build(folder):
    """Makes the library in `folder`. Raises CalledProcessError."""
    source, library = pathlib.Path(folder) / "mkl_as_intel.c", pathlib.Path(folder) / "mkl_as_intel.so"
    source.write_text(f"int {QUESTION}(void) {{ return 1; }}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    return library


def environment(wanted, folder):
    """What a peer's process needs for it, with the library in `folder`."""
    if not wanted:
        return {}
    return {"LD_PRELOAD": ":".join(filter(None, [str(build(folder)), os.environ.get("LD_PRELOAD")]))}
