"""Tables of what ``liu2018.py`` has recorded, as Markdown; ``liu2018.py table`` prints them.

Intervals are those of Student's t over shuffles of the same data, so that they tell how much the
order of the examples matters; in the table of choices, where a mean is over tasks, over tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from report import Interval, markdown, short, t_interval
from result_files import Record, record

SHOWN = (
    *("FOFO", "FOFO x64", "auto, last", "auto, last, suffix w", "histogram"),
    *("OFO", "OFO, suffix w", "LR", "STAMP", "OMCSL"),
)
PAIRS = (("FOFO", "OFO"), ("auto, last", "OFO"), ("auto, last", "OMCSL"), ("auto, last", "LR"))


def gap(scores: dict[str, list[float]], first: str, second: str) -> Interval:
    """How much the first learner is better than the second, paired by shuffle."""
    return t_interval(np.array(scores[first]) - np.array(scores[second]))


def score_tables(held: Record) -> Iterator[str]:
    """Online and offline F1 of every learner, and differences of pairs of them."""
    tasks = held.found["tasks"]
    shuffles = len(next(iter(tasks.values()))["online"]["FOFO"])
    for kind in ("online", "offline"):
        rows = [
            [name, f"{one['share']:.2%}", *(float(np.mean(one[kind][way])) for way in SHOWN)]
            for name, one in tasks.items()
        ]
        title = f"F1 {kind}, means of {shuffles} shuffles. {held.origin}"
        yield markdown(title, ["task", "positive", *SHOWN], rows)
        rows = [
            [name, *(gap(one[kind], *pair) for pair in PAIRS), gap(one[kind], *PAIRS[1]).verdict]
            for name, one in tasks.items()
        ]
        heads = ["task", *(f"{first} minus {second}" for first, second in PAIRS)]
        yield markdown(f"Differences of F1 {kind}", [*heads, "auto, last than OFO"], rows)


def variant_table(held: Record) -> str:
    """Other measures than F1."""
    heads = ["task", "measure", "FOFO", "FOFO for F1", "OFO", "LR"]
    heads += ["FOFO minus FOFO for F1", "FOFO minus OFO"]
    rows = []
    for name, one in held.found["tasks"].items():
        for measure, values in one["variants"].items():
            means = [float(np.mean(values[way])) for way in heads[2:6]]
            gaps = (gap(values, "FOFO", other) for other in ("FOFO for F1", "OFO"))
            rows.append([name, measure, *means, *gaps])
    return markdown("Section 5, other measures (gamma_scale=auto, predict_with=last)", heads, rows)


def time_table(held: Record) -> str:
    """Processor time of a pass, and that of others relative to logistic regression."""
    ways = [way for way in next(iter(held.found.values())) if way != "LR"]
    rows = []
    for name, spent in held.found.items():
        shown = (short(spent[way] / spent["LR"], 2) for way in ways)
        rows.append([name, f"{1000 * spent['LR']:.1f} ms", *shown])
    title = f"Figures 3 and 4, processor time of a pass over that of LR. {held.origin}"
    return markdown(title, ["task", "LR", *ways], rows)


def slope(sizes: Sequence[int], values: Sequence[float]) -> str:
    """The slope of logarithms."""
    return short(float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-9)), 1)[0]), 2)


def theory_tables(held: Record) -> Iterator[str]:
    """Errors of the threshold, and of F of what was learned, by examples seen."""
    sizes = held.found["thresholds"][0][2]
    heads = ["rate", "steps", "what", *(f"n = {size:,}" for size in sizes), "slope"]
    rows = [
        [rate, f"× {scale}", what, *(f"{x:.1e}" for x in values), slope(sizes, values)]
        for rate, scale, _, *both in held.found["thresholds"]
        for what, values in zip(("θ − θ*", "Q − Q*"), both, strict=True)
    ]
    yield markdown("Theorem 3, means of ten seeds", heads, rows)
    heads[1] = "learner"
    rows = [
        [rate, learner, what, *(f"{x:.1e}" for x in values), slope(sizes, values)]
        for rate, learner, _, *both in held.found["consistency"]
        for what, values in zip(("F* − F", "error of w"), both, strict=True)
    ]
    yield markdown("Theorem 4 and Assumption 1, means of ten seeds", heads, rows)


def group_of(name: str, looked_at: Sequence[str]) -> str:
    """The group of tasks that a table of choices has a row for."""
    if name in looked_at:
        return "looked at: " + ", ".join(looked_at)
    kind = name.split()[0].rstrip("0123456789")
    words = {"covtype": "other covtype", "letter": "letter, A to Z", "pixels": "pixels, a to z"}
    return f"held out: {words[kind]}"


def means_of(records: Sequence[dict[str, Any]], way: str) -> NDArray[np.float64]:
    """Mean online F1 over shuffles of each task, (tasks,)."""
    return np.array([np.mean(one["online"][way]) for one in records])


def choice_tables(held: Record, looked_at: Sequence[str]) -> Iterator[str]:
    """What scaling, steps and the last threshold bring, where it was chosen and where not."""
    ways = list(next(iter(held.found["standard"].values()))["online"])
    heads = ["tasks", "features", "number", *ways]
    for pair in PAIRS[:3]:
        heads += [f"{pair[0]} minus {pair[1]}", "more, even, less"]
    rows: list[list[Any]] = []
    ahead: dict[str, dict[str, dict[str, NDArray[np.float64]]]] = {}
    groups = dict.fromkeys(group_of(name, looked_at) for name in held.found["standard"])
    for group in groups:
        for scale, tasks in held.found.items():
            part = [one for name, one in tasks.items() if group_of(name, looked_at) == group]
            means = {way: means_of(part, way) for way in ways}
            row = [group, scale, len(part), *(float(values.mean()) for values in means.values())]
            for first, second in PAIRS[:3]:
                gaps = [gap(one["online"], first, second).verdict for one in part]
                counts = (str(gaps.count(word)) for word in ("more", "even", "less"))
                row += [t_interval(means[first] - means[second]), ", ".join(counts)]
            rows.append(row)
            ahead.setdefault(group, {})[scale] = means
    yield markdown(f"What was chosen, online F1. {held.origin}", heads, rows)
    heads = ["tasks", "standard minus unit, OFO", "standard minus unit, auto, last"]
    heads += ["longer steps (auto)", "last threshold", "both"]
    rows = []
    for group, scales in ahead.items():
        own, unit = scales["standard"], scales["unit"]
        gains = [own[way] - unit[way] for way in ("OFO", "auto, last")]
        gains += [own[way] - own["FOFO"] for way in ("FOFO auto", "FOFO last", "auto, last")]
        rows.append([group, *map(t_interval, gains)])
    yield markdown("What each choice brings, mean over tasks (standardised features)", heads, rows)
    heads = ["task", "features", "positive", *ways, "auto, last minus OFO"]
    rows = []
    for scale, tasks in held.found.items():
        for name, one in tasks.items():
            if name.startswith("covtype"):
                shown = (float(np.mean(one["online"][way])) for way in ways)
                last = gap(one["online"], "auto, last", "OFO")
                rows.append([name, scale, f"{one['share']:.2%}", *shown, last])
    yield markdown("The same on each task of covtype", heads, rows)


def every_table(looked_at: Sequence[str]) -> str:
    """Every table of the paper's experiments, from the records."""
    held = record("liu2018")
    parts = [
        *score_tables(held),
        time_table(record("liu2018_times")),
        variant_table(held),
        *theory_tables(held),
    ]
    return "\n".join([*parts, *choice_tables(record("liu2018_choices"), looked_at)])
