"""The file of frozen answers: a line of JSON for each problem, compressed.

A line has ``number``, ``attempt``, ``loss`` (what it is loaded with), ``fingerprint``, and the
record of the answer.
"""

import json
import lzma
from pathlib import Path

FILE = Path(__file__).parent / "answers.jsonl.xz"


def read_answers(path=FILE):
    """The lines of a file by number of the problem; none where there is no file."""
    if not path.exists():
        return {}
    with lzma.open(path, "rt", encoding="utf-8") as file:
        lines = map(json.loads, file)
        return {line["number"]: line for line in lines}


def write_answers(lines, path=FILE):
    """Writes lines by number, in their order."""
    with lzma.open(path, "wt", encoding="utf-8", preset=9) as file:
        for number in sorted(lines):
            file.write(json.dumps(lines[number], separators=(",", ":"), ensure_ascii=False) + "\n")
