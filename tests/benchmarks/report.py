"""What a run of the benchmarks measured, as JSON, and two runs side by side."""

import json
import math
import os
import platform
import re
from collections import Counter
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
    return {"machine": machine, "rows": [_finite(asdict(row)) for row in rows]}


def _finite(row):
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def write(path, rows):
    """Writes the JSON of a run; folders on the way are made."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(as_json(rows), indent=1) + "\n", encoding="utf-8")


def read(path):
    """The rows of another run.

    Raises:
        ValueError: the file is none of ours; the message says so in one sentence.
    """
    message = f"{path}: it must be a file that ./run bench wrote"
    try:
        rows = json.loads(Path(path).read_text(encoding="utf-8"))["rows"]
        for row in rows:
            if not isinstance(row["title"], str) or not isinstance(row["second"], float | None):
                raise ValueError(message)
    except OSError as error:
        raise ValueError(f"{message} ({error.strerror})") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(message) from None
    return rows


def keyed(rows):
    """Rows by title without what was measured in it, which stands in brackets; numbered."""
    seen = Counter()
    found = {}
    for row in rows:
        title = re.sub(r"\s*\([^()]*\)", "", row["title"])
        seen[title] += 1
        found[title, seen[title]] = row
    return found


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
        if now is None or then is None or then <= 0:
            slower += now is None and then is not None
            mark = "FAILED" if now is None else ""
            yield f"{key[0]:{width}} {_number(then)} {_number(now)} {'':8}   {mark}".rstrip()
            continue
        marked = now > SLOWER * then
        slower += marked
        mark = "SLOWER" if marked else ""
        yield f"{key[0]:{width}} {then:9.5f} {now:9.5f} {now / then:8.2f}   {mark}".rstrip()
    yield ""
    added, gone = len(after) - len(both), len(before) - len(both)
    yield f"{slower} of {len(both)} slower; {added} new, {gone} gone."


def _number(value):
    return f"{'-':>9}" if value is None else f"{value:9.5f}"
