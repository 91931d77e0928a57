#!/usr/bin/env python3
"""Machines that push their runs to one server at the same time: nothing is lost, and nothing is stored twice.

usage: ci/push.py PERFBENCH [--machines N] [--seconds N]

Meanwhile the server is killed once and started again, and a reader looks at its pages. Afterwards the example of a proxy
with TLS in docs/guides/other_machines.md passes a push on, where nginx and openssl are installed. The times of the
pages are printed and not judged.
"""
import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

from acceptance import PATIENCE_S, check, free_ports, rows

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "other_machines.md"


def value(db, sql):
    return rows(db, sql)[0][0]


class Server:
    def __init__(self, perfbench, keys):
        self.perfbench, self.keys, self.port, self.process = perfbench, keys, free_ports(1)[0], None
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self):
        self.process = subprocess.Popen([self.perfbench, "serve", "--db", "team.db", "--accept", self.keys, "--port",
                                         str(self.port)], stdout=subprocess.PIPE, text=True)
        check(self.process.stdout.readline().startswith("serving "), "the server does not start")

    def end(self, by):
        self.process.send_signal(by)
        self.process.wait()


class Machine(threading.Thread):
    """Measures and pushes until a time; at last it pushes everything."""

    def __init__(self, perfbench, server, name, until):
        super().__init__(daemon=True)
        self.perfbench, self.server, self.machine, self.until = perfbench, server, name, until
        self.db, self.pushes, self.complaint = f"{name}.db", 0, ""

    def run(self):
        while not self.complaint and time.monotonic() < self.until:
            self.call("run", "--repeats", "2", "--db", self.db, "--no-lock", "--", "true")
            self.push("--select", "latest")
        if not self.complaint:
            self.push()

    def push(self, *more):
        self.call("push", self.server.url, "--db", self.db, "--key", f"{self.machine}.key", *more)
        self.pushes += 1

    def call(self, *words):
        ended = subprocess.run([self.perfbench, *words], capture_output=True, text=True)
        if ended.returncode != 0:
            self.complaint = f"{self.machine}: {' '.join(words)} gives {ended.returncode}: {ended.stderr}"


class Viewer(threading.Thread):
    """Looks at the pages, as a person would."""

    def __init__(self, server):
        super().__init__()
        self.server, self.seconds, self.ended, self.complaint = server, [], threading.Event(), ""

    def run(self):
        while not self.ended.wait(0.05):
            for path in ("/", "/runs"):
                begun = time.monotonic()
                try:
                    with urllib.request.urlopen(self.server.url + path, timeout=PATIENCE_S) as answer:
                        answer.read()
                    self.seconds.append(time.monotonic() - begun)
                except urllib.error.HTTPError as error:
                    self.complaint = f"{path} gives {error.code}: {error.read()[:200]}"
                except OSError:
                    pass  # while the server is killed


def make_keys(perfbench, names):
    lines = []
    for name in names:
        made = subprocess.run([perfbench, "push", "--new-key", name, "--key", f"{name}.key"], capture_output=True,
                              text=True, check=True)
        lines.append(made.stdout)
    Path("machines.keys").write_text("".join(lines))


def check_machines(perfbench, server, names, seconds):
    server.start()
    until = time.monotonic() + seconds
    viewer = Viewer(server)
    viewer.start()
    machines = [Machine(perfbench, server, name, until) for name in names]
    for machine in machines:
        machine.start()
    time.sleep(seconds / 2)
    server.end(signal.SIGKILL)
    server.start()
    for machine in machines:
        machine.join()
    viewer.ended.set()
    viewer.join()
    for one in [*machines, viewer]:
        check(not one.complaint, one.complaint)
    measured = {machine.machine: value(machine.db, "SELECT count(*) FROM attempts") for machine in machines}
    gathered = value("team.db", "SELECT count(*) FROM attempts")
    check(gathered == sum(measured.values()), f"{sum(measured.values())} attempts were pushed, and {gathered} are there")
    for name, count in measured.items():
        sent = value("team.db", "SELECT count(*) FROM pushed_attempts JOIN pushes USING (push_key) "
                     f"WHERE machine = '{name}'")
        check(sent == count, f"{name} has {count} attempts, and the server has {sent} of it")
    check(value("team.db", "PRAGMA integrity_check") == "ok", "the database of the server is damaged")
    times = sorted(viewer.seconds)
    print(f"push: {len(machines)} machines in {seconds} s: {sum(machine.pushes for machine in machines)} pushes, "
          f"{gathered} attempts; {len(times)} pages in {statistics.median(times) * 1e3:.0f} ms (median), "
          f"{times[int(len(times) * 0.95)] * 1e3:.0f} ms (95 %), {times[-1] * 1e3:.0f} ms (slowest)")


def proxy_configuration(server, port):
    """The example of the guide, with files and ports of this test."""
    (example,) = re.findall(r"^server \{.*?^\}", GUIDE.read_text(), re.M | re.S)
    folder = Path.cwd()
    for old, new in (("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"), ("perf.example.com", "localhost"),
                     ("/etc/ssl/perf.crt", f"{folder}/perf.crt"), ("/etc/ssl/perf.key", f"{folder}/perf.tls"),
                     ("http://127.0.0.1:8123", server.url)):
        check(old in example, f"the example of the guide has no '{old}'")
        example = example.replace(old, new)
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    return (f"daemon off;\npid {folder}/nginx.pid;\nerror_log {folder}/nginx.log;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{paths}{example}\n}}\n")


def check_proxy(perfbench, server, name):
    missing = [program for program in ("nginx", "openssl") if not shutil.which(program)]
    if missing:
        print(f"skipped: the proxy with TLS: there is no {', '.join(missing)}")
        return
    port = free_ports(1)[0]
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", "perf.tls", "-out", "perf.crt"],
                   capture_output=True, check=True)
    Path("nginx.conf").write_text(proxy_configuration(server, port))
    proxy = subprocess.Popen(["nginx", "-c", f"{Path.cwd()}/nginx.conf"], stderr=subprocess.PIPE, text=True)
    try:
        subprocess.run([perfbench, "run", "--repeats", "1", "--db", "tls.db", "--no-lock", "--", "true"], capture_output=True,
                       check=True)
        words = [perfbench, "push", f"https://localhost:{port}", "--db", "tls.db", "--key", f"{name}.key"]
        stranger = subprocess.run(words, capture_output=True, text=True)
        check(stranger.returncode == 3 and "SSL_CERT_FILE" in stranger.stderr,
              f"an unknown certificate gives {stranger.returncode}: {stranger.stderr}")
        ended = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "SSL_CERT_FILE": "perf.crt"})
        check(ended.returncode == 0 and "1 attempts added" in ended.stdout,
              f"a push through nginx gives {ended.returncode}: {ended.stderr}")
        print("push: also through nginx with TLS")
    finally:
        proxy.terminate()
        proxy.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("perfbench", type=Path)
    parser.add_argument("--machines", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    perfbench = options.perfbench.resolve()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        os.umask(0o077)
        names = [f"node{number}" for number in range(options.machines)]
        make_keys(perfbench, names)
        server = Server(perfbench, "machines.keys")
        try:
            check_machines(perfbench, server, names, options.seconds)
            check_proxy(perfbench, server, names[0])
        finally:
            server.end(signal.SIGTERM)


if __name__ == "__main__":
    main()
