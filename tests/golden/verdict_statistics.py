"""Estimators and tests behind the verdicts, by SciPy and NumPy, on fixed made-up numbers.

    python3 -m venv venv && venv/bin/pip install scipy
    venv/bin/python tests/golden/verdict_statistics.py          # compare with verdict_statistics.json
    venv/bin/python tests/golden/verdict_statistics.py --write  # rewrite, after a deliberate change

Read by tests/harness/stats/golden_test.cpp.
"""

import itertools
import json
import pathlib
import sys

import numpy as np
import scipy
from scipy import stats

VERSION = 1
path = pathlib.Path(__file__).with_name("verdict_statistics.json")


def pairs_case(random, n, shift, sd, common_sd):
    common = random.normal(0.0, common_sd, n)
    a = np.exp(common + random.normal(0.0, sd, n)).round(6)
    b = np.exp(common + random.normal(shift, sd, n)).round(6)
    d = np.log(b / a)
    unrelated = stats.f.sf(np.log(a * b).var(ddof=1) / d.var(ddof=1), n - 1, n - 1) >= 0.05
    t = stats.ttest_ind(np.log(b), np.log(a)) if unrelated else stats.ttest_1samp(d, 0.0)
    wide = t.confidence_interval(0.95)
    flips = stats.permutation_test((np.log(b), np.log(a)), lambda x, y, axis: np.mean(x - y, axis=axis),
                                   permutation_type="samples", n_resamples=np.inf, vectorized=True)
    freedom = 2 if unrelated else 1
    # The standard error of the mean of n pairs in a t test, times the root of n.
    spread = abs(d.mean() / t.statistic) * np.sqrt(n)
    need = lambda m: (stats.t.ppf(0.995, freedom * (m - 1)) + stats.t.ppf(0.8, freedom * (m - 1))) * spread / np.sqrt(m)
    pairs_needed = next(m for m in range(8, 100000) if need(m) <= np.log1p(0.02))
    return {
        "a": a.tolist(), "b": b.tolist(), "ratio": float(np.exp(d.mean())), "t_p": float(t.pvalue),
        "ratio_low": float(np.exp(wide.low)), "ratio_high": float(np.exp(wide.high)),
        "sign_flip_p": float(flips.pvalue), "detectable_fraction": float(np.expm1(need(n))),
        "pairs_needed": pairs_needed,
        "interval_90": [float(x) for x in t.confidence_interval(0.90)],
    }


def sides_case(random, n, m, shift):
    a = np.exp(random.normal(shift, 0.02, n)).round(6)
    b = np.exp(random.normal(0.0, 0.05, m)).round(6)
    t = stats.ttest_ind(np.log(a), np.log(b), equal_var=False)
    wide = t.confidence_interval(0.95)
    # SciPy's exact test doubles the smaller tail; this one counts |difference|, over every split.
    pooled = np.log(np.concatenate([a, b]))
    seen = abs(np.log(a).mean() - np.log(b).mean())
    total = extreme = 0
    for chosen in itertools.combinations(range(n + m), n):
        rest = np.delete(pooled, chosen)
        total += 1
        extreme += abs(pooled[list(chosen)].mean() - rest.mean()) >= seen * (1 - 1e-12)
    return {"current": a.tolist(), "baseline": b.tolist(), "ratio": float(np.exp(np.log(a).mean() - np.log(b).mean())),
            "ratio_low": float(np.exp(wide.low)), "ratio_high": float(np.exp(wide.high)),
            "permutation_p": extreme / total}


def sessions_case(random, current, baseline, levels, runs):
    """Two sides of these runs by session against other sessions' levels: the variance of their difference from the
    covariance matrix of all their runs, components by the method of moments."""
    shifts = {}
    def side(sessions):
        return np.array([np.exp(shifts.setdefault(s, random.normal(0.0, 0.03)) + random.normal(0.0, 0.01))
                         for s in sessions]).round(6)
    a, b = side(current), side(baseline)
    known = (random.normal(0.0, 0.03, levels) + random.normal(0.0, 0.01, levels) / np.sqrt(runs)).round(7)
    label = np.array(current + baseline)
    groups = [np.log(side)[np.array(names) == s] for side, names in ((a, current), (b, baseline)) for s in set(names)]
    squares = sum(((g - g.mean()) ** 2).sum() for g in groups)
    freedom = sum(len(g) - 1 for g in groups)
    w = squares / freedom
    contrast = np.concatenate([np.full(len(a), 1 / len(a)), np.full(len(b), -1 / len(b))])
    same_session = np.equal.outer(label, label).astype(float)
    weight = contrast @ same_session @ contrast
    of_levels = known.var(ddof=1)
    share = contrast @ contrast - weight * np.mean(1 / np.array(runs))
    parts = [weight * of_levels, max(share, 0.0) * w]
    variance = sum(parts)
    if share > 0:  # the moment estimate of the variance between the shifts, which may be negative
        own = of_levels - w * np.mean(1 / np.array(runs))
        covariance = own * same_session + w * np.eye(len(label))
        assert np.isclose(variance, contrast @ covariance @ contrast)
    free = variance**2 / (parts[0]**2 / (levels - 1) + parts[1]**2 / freedom)
    difference = np.log(a).mean() - np.log(b).mean()
    t = stats.t(free, loc=difference, scale=np.sqrt(variance))
    return {"current": a.tolist(), "current_sessions": current, "baseline": b.tolist(), "baseline_sessions": baseline,
            "log_levels": known.tolist(), "level_runs": list(runs), "deviation": float(np.sqrt(of_levels)),
            "freedom": float(free), "p": float(2 * stats.t(free).sf(abs(difference) / np.sqrt(variance))),
            "ratio_low": float(np.exp(t.ppf(0.025))), "ratio_high": float(np.exp(t.ppf(0.975)))}


def shift_case(random, n, phi, first, shift):
    """Score of the best shift, by generalised least squares with the whole covariance matrix."""
    x = np.empty(n)
    x[0] = random.normal()
    for i in range(1, n):
        x[i] = phi * x[i - 1] + np.sqrt(1 - phi * phi) * random.normal()
    x = 0.01 * x
    x[5] += 0.2
    x[first:] += shift
    x = x.round(7)
    last = n - min(14, n - 12)
    reference = x[max(0, last - 120):last]
    center = np.median(reference)
    sigma = 1.4826 * np.median(np.abs(reference - center))
    clipped = np.clip(x - center, -4 * sigma, 4 * sigma)
    known = clipped[max(0, last - 120):last]
    raw = np.sum(known[1:] * known[:-1]) / np.sum(known * known)
    rho = float(np.clip((raw * len(known) + 1) / (len(known) - 3), 0, 0.9))
    innovation = np.std(known[1:] - rho * known[:-1], ddof=1)
    best = (0.0, 0)
    for k in range(1, n - last + 1):
        start = max(0, n - k - 40)
        y = clipped[start:]
        m = len(y)
        lags = np.abs(np.subtract.outer(np.arange(m), np.arange(m)))
        precision = np.linalg.inv(innovation**2 / (1 - rho**2) * rho**lags)
        design = np.column_stack([np.ones(m), np.arange(m) >= m - k]).astype(float)
        covariance = np.linalg.inv(design.T @ precision @ design)
        estimate = covariance @ design.T @ precision @ y
        best = max(best, (abs(float(estimate[1])) / float(np.sqrt(covariance[1, 1])), n - k))
    return {"logs": x.tolist(), "score": best[0], "first": best[1], "sigma": float(sigma)}


def build():
    random = np.random.default_rng(20240229)
    values = random.normal(5, 2, 31).round(6)
    p = random.uniform(0, 1, 20) ** 3
    return {
        "version": VERSION, "scipy": scipy.__version__, "numpy": np.__version__,
        "pairs": [pairs_case(random, n, shift, 0.01, common_sd)
                  for n, shift, common_sd in ((4, 0.0, 0), (8, 0.0, 0), (8, 0.03, 0), (16, 0.01, 0), (8, 0.03, 0.1), (16, 0.01, 0.1))],
        "sides": [sides_case(random, n, m, s) for n, m, s in ((5, 5, 0.0), (5, 7, 0.06), (8, 8, 0.02))],
        "sessions": [sessions_case(np.random.default_rng(7 + i), *case) for i, case in enumerate((
            (["c"] * 5, ["b"] * 5, 10, [5] * 10), (["c"] * 2, ["b"] * 5, 5, [5] * 5), (["c"] * 8, ["b"] * 8, 6, [3] * 6),
            (["c"] * 3 + ["d"] * 2, ["a"] * 2 + ["b"] * 3 + ["d"], 12, [5, 1, 3] * 4), (["c"], ["b"] * 3, 7, [4] * 7)))],
        "shifts": [shift_case(random, n, phi, first, s)
                   for n, phi, first, s in ((80, 0.0, 76, 0.02), (200, 0.6, 195, -0.03), (20, 0.0, 17, 0.02))],
        "p": p.tolist(), "benjamini_hochberg": stats.false_discovery_control(p).tolist(),
        "wilson": [[k, n, c, *(float(x) for x in stats.binomtest(k, n).proportion_ci(c, method="wilson"))]
                   for k, n, c in ((0, 50, 0.95), (3, 400, 0.95), (77, 100, 0.99), (12, 12, 0.9))],
        "values": values.tolist(), "median": float(np.median(values)),
        "quantiles": [[q, float(np.quantile(values, q))] for q in (0.0, 0.1, 0.33, 0.9, 1.0)],
        "robust_deviation": float(stats.median_abs_deviation(values, scale="normal")),
    }


def close(x, y):
    if isinstance(x, dict):
        return x.keys() == y.keys() and all(close(x[k], y[k]) for k in x if k not in ("scipy", "numpy"))
    if isinstance(x, list):
        return len(x) == len(y) and all(map(close, x, y))
    return x == y or (isinstance(x, float) and bool(np.isclose(x, y, rtol=1e-9, atol=1e-12)))


made = json.loads(json.dumps(build()))
if "--write" in sys.argv:
    path.write_text(json.dumps(made, indent=1) + "\n")
equal = close(made, json.loads(path.read_text()))
print("equal" if equal else "DIFFERENT")
sys.exit(not equal)
