"""`fsmeu segment-k`: half the mean segment."""

import pytest


def lengths(text):
    """The numbers of units in the segments of a line of slots: each boundary ends one."""
    found = [1]
    for slot in text:
        if slot == "1":
            found.append(1)
        else:
            found[-1] += 1
    return found


@pytest.mark.parametrize(
    "lines",
    [["0100100"], ["000000000000001"], ["1111"], ["0001000", "000000000000", "01"], ["0" * 99]],
)
def test_half_the_mean(fsmeu, tmp_path, lines):
    file = tmp_path / "some.txt"
    file.write_text("# slots\n" + "\n\n".join(" ".join(line) for line in lines) + "\n")
    all_lengths = [length for line in lines for length in lengths(line)]
    mean = sum(all_lengths) / len(all_lengths)
    told = fsmeu("segment-k", file, "--json").json
    assert told["mean"] == pytest.approx(mean, rel=1e-15)
    assert told["k"] == max(1, int(mean / 2 + 0.5))
    assert fsmeu("segment-k", "-", stdin="\n".join(lines)).out == f"{told['k']}\n"


def test_bad_files(fsmeu, tmp_path):
    fsmeu("segment-k", tmp_path / "none").is_refused("the file cannot be read (No such file")
    fsmeu("segment-k", "-", stdin="0102").is_refused("line 1", "must be one of 0, 1")
    fsmeu("segment-k", "-", stdin="\n# 01\n").is_refused("at least one segmentation")
    fsmeu("segment-k", "-", stdin=b"\xff\xfe").is_refused("UTF-8")
