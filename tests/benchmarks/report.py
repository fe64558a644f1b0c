"""What a run of the benchmarks measured, as JSON, and two runs side by side."""

import json
import os
import platform
import re
from dataclasses import asdict
from pathlib import Path

SLOWER = 1.2
"""A measurement that is this many times that of the other run is marked."""


def as_json(rows):
    """The rows and what they were measured on; infinities, which JSON has not, are None."""
    machine = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "processors": os.cpu_count(),
    }
    text = json.dumps([asdict(row) for row in rows])
    return {"machine": machine, "rows": json.loads(text, parse_constant=lambda name: None)}


def write(path, rows):
    """Writes the JSON of a run; folders on the way are made."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(as_json(rows), indent=1) + "\n", encoding="utf-8")


def read(path):
    """The rows of another run.

    Raises:
        ValueError: the file is none of ours.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: no file that ./run bench wrote ({error})") from None


def keyed(rows):
    """Rows by title without what was measured in it, which stands in brackets; numbered."""
    titles = [re.sub(r"\s*\([^()]*\)", "", row["title"]) for row in rows]
    numbers = (titles[:k].count(title) for k, title in enumerate(titles))
    return dict(zip(zip(titles, numbers, strict=True), rows, strict=True))


def side_by_side(old, new):
    """Lines: what both runs measured, the ratio, and a mark at what is slower or larger."""
    before, after = keyed(old), keyed(new)
    both = [key for key in after if key in before]
    width = max([52, *(len(title) for title, _ in both)])
    yield f"Now against then; marked where it is more than {SLOWER - 1:.0%} slower or larger."
    yield ""
    yield f"{'':{width}} {'then':>9} {'now':>9} {'ratio':>8}"
    slower = 0
    for key in both:
        then, now = before[key]["second"], after[key]["second"]
        ratio = now / then if now is not None and then else None
        mark = "FAILED" if now is None else "SLOWER" if ratio and ratio > SLOWER else ""
        slower += bool(mark) and then is not None
        both_sides = " ".join(f"{'-':>9}" if x is None else f"{x:9.5f}" for x in (then, now))
        ratio = f"{ratio:8.2f}" if ratio is not None else " " * 8
        yield f"{key[0]:{width}} {both_sides} {ratio}   {mark}".rstrip()
    yield ""
    added, gone = len(after) - len(both), len(before) - len(both)
    yield f"{slower} of {len(both)} slower; {added} new, {gone} gone."
