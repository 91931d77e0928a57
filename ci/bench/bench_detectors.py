#!/usr/bin/env python3
"""perfbench's nightly screen beside public change-point detectors, on the same simulated series.

    perfbench selftest --seed 1 --export-series /tmp/series
    python3 -m venv venv && venv/bin/pip install apache-otava ruptures
    venv/bin/python ci/bench/bench_detectors.py /tmp/series [--unchanged N] [--shifted N] [--jobs N]

Each detector is run as a nightly job: every night it gets the newest 134 nights (what the screen looks at) and names
its change points. A false alarm is a change point of an unchanged series that no earlier night had named within 3
nights of it. The delay is the number of nights until a change point within 3 nights of the shift is named; the first
shifted night is 1. Settings are the tools' defaults; ruptures has none for its penalty and gets BIC's, 2 ln(n) with the
variance of the nights. What is not installed is left out, and said so.
"""

import argparse
import collections
import concurrent.futures
import csv
import importlib.metadata
import math
import pathlib
import statistics

HISTORY = 120  # kHistoryNights of harness/selftest/screen_rates.h
WINDOW = 134
NEAR = 3
MOST_DELAY = 20


def otava_points(values):
    from otava.series import AnalysisOptions, Metric, Series

    times = list(range(len(values)))
    series = Series("s", None, times, {"v": Metric(1, 1.0)}, {"v": [math.exp(v) for v in values]}, {})
    return [int(point.index) for point in series.analyze(AnalysisOptions()).change_points["v"]]


def ruptures_points(values):
    import numpy
    import ruptures

    signal = numpy.asarray(values)
    # Deviation from the differences, so that a shift does not count as noise.
    variance = (1.4826 * numpy.median(numpy.abs(numpy.diff(signal)))) ** 2 / 2
    breaks = ruptures.Pelt(model="l2", min_size=1, jump=1).fit(signal).predict(pen=2 * variance * math.log(len(signal)))
    return breaks[:-1]


DETECTORS = [("Apache Otava", "apache-otava", otava_points), ("ruptures PELT, BIC", "ruptures", ruptures_points)]


def nightly(points, values):
    """Pairs (night, change point), each change point on the first night that names it."""
    named = []
    for night in range(HISTORY, len(values)):
        first = max(0, night + 1 - WINDOW)
        for point in points(values[first:night + 1]):
            if all(abs(first + point - old) > NEAR for _, old in named):
                named.append((night, first + point))
                yield night, first + point


def false_alarms(job):
    points, values = job
    # A change point of the history before the first night is no alarm of this year.
    return sum(1 for _, point in nightly(points, values) if point > HISTORY - NEAR)


def delay(job):
    points, values = job
    for night, point in nightly(points, values[:HISTORY + MOST_DELAY]):
        if abs(point - HISTORY) <= NEAR:
            return night + 1 - HISTORY
    return MOST_DELAY + 1


def read_series(folder):
    out = collections.defaultdict(lambda: collections.defaultdict(list))
    with open(folder / "series.csv") as file:
        for row in csv.DictReader(file):
            out[(row["noise"], float(row["shift_sigma"]))][int(row["series"])].append(float(row["value"]))
    return out


def screen_rows(folder, groups):
    """The same two figures of perfbench's screen: nights in a row are one screen, as they are one change point."""
    nights = collections.defaultdict(list)
    with open(folder / "screens.csv") as file:
        for row in csv.DictReader(file):
            nights[(row["noise"], float(row["shift_sigma"]), int(row["series"]))].append(int(row["night"]))
    rows = {}
    for (noise, sigma), series in groups.items():
        found = [nights[(noise, sigma, i)] for i in series]
        if sigma == 0:
            rows[(noise, sigma)] = statistics.mean(len(set(f) - {n + 1 for n in f}) for f in found)
        else:
            delays = (f[0] + 1 - HISTORY if f else MOST_DELAY + 1 for f in found)
            rows[(noise, sigma)] = statistics.median(min(d, MOST_DELAY + 1) for d in delays)
    return rows


def detector_rows(points, groups, pool):
    rows = {}
    for (noise, sigma), series in groups.items():
        jobs = [(points, values) for values in series.values()]
        if sigma == 0:
            rows[(noise, sigma)] = statistics.mean(pool.map(false_alarms, jobs))
        else:
            rows[(noise, sigma)] = statistics.median(pool.map(delay, jobs))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="of `perfbench selftest --export-series`")
    parser.add_argument("--unchanged", type=int, default=4, help="unchanged series of a year, of each noise")
    parser.add_argument("--shifted", type=int, default=20, help="shifted series, of each noise and size")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    groups = {}
    for (noise, sigma), series in read_series(options.folder).items():
        most = options.unchanged if sigma == 0 else options.shifted
        groups[(noise, sigma)] = {i: values for i, values in series.items() if i < most}
    tables = {"perfbench screen": screen_rows(options.folder, groups)}
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for name, package, points in DETECTORS:
            try:
                title = f"{name} {importlib.metadata.version(package)}"
            except importlib.metadata.PackageNotFoundError:
                print(f"left out: {name}, because {package} is not installed\n")
                continue
            tables[title] = detector_rows(points, groups, pool)
    sizes = sorted({sigma for _, sigma in groups if sigma > 0})
    heads = " | ".join(f"nights to {s:g} sigma" for s in sizes)
    print(f"| noise | detector | false alarms a series-year | {heads} |")
    print("| --- | --- | --- |" + " --- |" * len(sizes))
    for noise in dict.fromkeys(noise for noise, _ in groups):
        for title, rows in tables.items():
            delays = (rows[(noise, s)] for s in sizes)
            shown = " | ".join(f"{d:g}" if d <= MOST_DELAY else f"> {MOST_DELAY}" for d in delays)
            print(f"| {noise} | {title} | {rows[(noise, 0.0)]:.1f} | {shown} |")


if __name__ == "__main__":
    main()
