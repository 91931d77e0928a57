"""The rooms of the tree, from the lowest floor up: a room stands on the floor above the highest room that it includes."""
import statistics
from pathlib import Path

BEGIN, END = "<!-- rooms: written by ci/check_includes.py --table --write -->", "<!-- end of rooms -->"


def floors_of(arrows):
    """Floor of each room. `arrows` maps a room to the rooms that it includes, without circles."""
    floors = {}

    def floor(room):
        if room not in floors:
            floors[room] = 1 + max((floor(below) for below in arrows[room]), default=-1)
        return floors[room]

    for room in arrows:
        floor(room)
    return floors


def nearest(arrows, room):
    """What a room includes, without what it reaches through another of them."""
    def reached(start):
        found, todo = set(), list(arrows[start])
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo += arrows[one]
        return found

    through = set().union(*(reached(below) for below in arrows[room])) if arrows[room] else set()
    return sorted(arrows[room] - through)


def table(arrows):
    floors = floors_of(arrows)
    lines = ["| floor | room | includes |", "| ---: | --- | --- |"]
    for room in sorted(arrows, key=lambda room: (floors[room], room)):
        below = ", ".join(f"`{name}`" for name in nearest(arrows, room))
        lines.append(f"| {floors[room]} | `{room}` | {below} |")
    return "\n".join(lines)


def sizes(root, files, folders):
    """Files, lines and the median file of each top folder."""
    lines = ["| folder | files | lines | median file |", "| --- | ---: | ---: | ---: |"]
    for folder in folders:
        counts = [(root / file).read_text().count("\n") for file in files if file.startswith(folder + "/")]
        if counts:
            lines.append(f"| `{folder}` | {len(counts)} | {sum(counts)} | {statistics.median(counts):.0f} |")
    return "\n".join(lines)


def block_of(text):
    """The table that a document has between its two marks; None without them."""
    if BEGIN not in text or END not in text:
        return None
    return text.partition(BEGIN)[2].partition(END)[0].strip("\n")


def write(document, text):
    old = document.read_text()
    document.write_text(old.partition(BEGIN)[0] + BEGIN + "\n" + text + "\n" + END + old.partition(END)[2])
