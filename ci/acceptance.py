"""What the scripts share that run perfbench against the real thing: a scheduler, containers, many machines."""
import contextlib
import random
import socket
import sqlite3
import sys
import time
from pathlib import Path

PATIENCE_S = 120
NAME = Path(sys.argv[0]).stem
QUICKSTART = Path(__file__).resolve().parent.parent / "matrices" / "quickstart.yaml"
ONE_CELL = ["--only", "model=gpt-mini", "--only", "attention=flash", "--only", "remat=none"]


def check(holds, what):
    if not holds:
        sys.exit(f"{NAME}: {what}")


def rows(db, sql):
    with contextlib.closing(sqlite3.connect(db)) as connection:
        return connection.execute(sql).fetchall()


def wait_for(what, condition):
    until = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < until, f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.05)


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def begun(db):
    """The attempts that jobs of a database's sweeps have begun."""
    return list(Path(db).with_suffix(".runs").glob("sessions/*/begun.*"))


def check_kills(begin, resume, check_no_job_left, count):
    """perfbench is killed at a random moment; afterwards nothing is missing, twice or running."""
    seed = random.randrange(2**32)
    print(f"{NAME}: {count} kills, seed {seed}")
    chance = random.Random(seed)
    for number in range(count):
        db = f"kill{number}.db"
        killed = begin(db, "--only", "model=gpt-mini")
        time.sleep(chance.uniform(0.0, 4.0))
        killed.kill()
        killed.communicate()
        ended = resume(db, "--only", "model=gpt-mini", "--resume")
        check(ended.returncode == 0, f"kill {number}: resumed, it gives {ended.returncode}: {ended.stderr}")
        found = rows(db, "SELECT state, count(*), count(DISTINCT run_key) FROM attempts GROUP BY state")
        check(found == [("ok", 6, 6)], f"kill {number}: the attempts are {found}")
        check_no_job_left(f"kill {number}")
