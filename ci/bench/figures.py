"""Numbers of alternating measurements: ratios of what was measured side by side, and how sure their median is."""

import math
import statistics


def median_interval(values, confidence=0.95):
    """(low, median, high): the narrowest pair of symmetric order statistics that holds the median of what the values
    were drawn from with at least `confidence`, whatever their distribution; the extremes where there are too few."""
    ordered = sorted(values)
    n = len(ordered)
    below = 0.0  # P(fewer than k of n values lie below the median), k counted up
    k = 0
    while k < n // 2:
        more = below + math.comb(n, k) * 0.5**n
        if 2 * more > 1 - confidence:
            break
        below, k = more, k + 1
    outer = max(k - 1, 0)
    return ordered[outer], statistics.median(ordered), ordered[n - 1 - outer]


def ratios(rows, above, below, key, value, by):
    """Of every group of rows with one `by`: value of the row whose `key` is `above` over that of `below`. A group that
    lacks one of them gives none."""
    groups = {}
    for row in rows:
        groups.setdefault(row[by], {})[row[key]] = row[value]
    return [group[above] / group[below] for _, group in sorted(groups.items()) if above in group and below in group]


def ratio_summary(rows, above, below, key, value, by):
    """The ratio's median with its interval and the number of groups, or None without any."""
    found = ratios(rows, above, below, key, value, by)
    if not found:
        return None
    low, middle, high = median_interval(found)
    return {"median": middle, "low": low, "high": high, "pairs": len(found)}


def rounded(row):
    """For a line of output: four places are more than the machine repeats."""
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
