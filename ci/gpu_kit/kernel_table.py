"""Where the time of traced steps went, operation by operation, beside the time that the hardware's limits allow."""

import json
import pathlib
import re
import subprocess

HARDWARE = pathlib.Path(__file__).resolve().parents[2] / "workloads" / "hardware"

PHASE = re.compile(r"^(data|forward|backward|exposed_comm|bubble|optimizer) ")  # "backward matmul"


def hardware_file(gpu_model, assumed):
    """The file that knows the GPU by the driver's name for it, else the one that the run assumes."""
    for file in sorted(HARDWARE.glob("*.yaml")):
        if re.search(rf"^\s+- {re.escape(gpu_model)}(\s+#.*)?$", file.read_text(), re.MULTILINE):
            return file
    return HARDWARE / f"{assumed}.yaml"


def limits(file, precision):
    """FLOP/s and bytes/s."""
    text = file.read_text()
    peak = re.search(rf"^  {precision}: (\S+)", text, re.MULTILINE)
    bandwidth = re.search(r"^memory_bytes_per_s: (\S+)", text, re.MULTILINE)
    if not peak or not bandwidth:
        raise ValueError(f"{file} has no peak for {precision}, or no memory bandwidth")
    return float(peak[1]), float(bandwidth[1])


def measured_seconds(perfbench, run):
    """By operation, of one step; what is no operation (idle time) has its own words. A trace held against itself is
    what the harness says of each operation."""
    done = subprocess.run([perfbench, "trace", run, "--against", run, "--format", "json"], check=True,
                          capture_output=True, text=True)
    seconds = {}
    for share in json.loads(done.stdout)["shares"]:
        name = PHASE.sub("", share["name"])
        seconds[name] = seconds.get(name, 0.0) + share["a_s"]
    return seconds


def estimates(cell):
    """Operations by name: calls, flops and bytes of a step; None where the kit has none."""
    file = cell / "operations.json"
    if not file.exists():
        return None
    return {entry["operation"]: entry for entry in json.loads(file.read_text())["operations"]}


def rows(seconds, estimated, peak, bandwidth):
    """The longest first: name, calls, measured ms, ms that the limits allow, which of them decides, and the ratio."""
    out = []
    for name in sorted(seconds.keys() | (estimated or {}).keys(), key=lambda name: (-seconds.get(name, 0), name)):
        found = (estimated or {}).get(name)
        row = {"operation": name, "measured_ms": seconds.get(name, 0.0) * 1e3}
        if found:
            computing, moving = found["flops"] / peak, found["bytes"] / bandwidth
            limit = max(computing, moving)
            row |= {"calls": found["calls"], "limit_ms": limit * 1e3, "by": "FLOP" if computing > moving else "bytes"}
            if limit > 0:
                row["over_limit"] = seconds.get(name, 0.0) / limit
        out.append(row)
    return out
