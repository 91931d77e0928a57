"""What the detectors' adapter takes of NumPy, on lists."""

import statistics

asarray = list
median = statistics.median


def diff(values):
    return [after - before for before, after in zip(values, values[1:])]


def abs(values):  # noqa: A001, the name is NumPy's
    return [max(value, -value) for value in values]
