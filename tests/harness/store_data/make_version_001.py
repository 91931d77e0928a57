#!/usr/bin/env python3
"""Writes version_001.sql.zst anew with today's schema.sql and the rows that it has: for changes of the schema until
release 0.1.0 has its tag, and never after. New columns get their zero; new tables stay empty.
"""
import sqlite3
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parent
SCHEMA = FOLDER.parents[2] / "harness/store/schema/schema.sql"
FILE = FOLDER / "version_001.sql.zst"
MARKS = ("application_id", "user_version")


def main():
    old, new = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    old.executescript(subprocess.run(["zstd", "-dc", FILE], check=True, capture_output=True, text=True).stdout)
    new.executescript(SCHEMA.read_text())
    for (table,) in new.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall():
        known = {row[1] for row in old.execute(f"PRAGMA table_info({table})")}
        if not known:
            continue
        columns = [row for row in new.execute(f"PRAGMA table_info({table})")]
        values = [name if name in known else ("NULL" if not needed else "''" if kind == "TEXT" else "0")
                  for _, name, kind, needed, _, _ in columns]
        rows = old.execute(f"SELECT {', '.join(values)} FROM {table}").fetchall()
        new.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", rows)
    new.commit()
    marks = [f"PRAGMA {mark} = {old.execute(f'PRAGMA {mark}').fetchone()[0]};" for mark in MARKS]
    text = "\n".join([*new.iterdump(), *marks, ""])
    FILE.write_bytes(subprocess.run(["zstd", "-19", "-c"], check=True, capture_output=True, input=text.encode()).stdout)


if __name__ == "__main__":
    main()
