"""Files made to harm: refused in a sentence, soon, and nothing in them is run."""

import time

import pytest

import fsmeu
from fsmeu.errors import FsmeuError

PATIENCE = 5.0
"""Seconds; a second is the aim, the rest is for busy machines."""


def chain(statement, count):
    return " ".join(statement.format(k=k, before=k - 1) for k in range(1, count))


def least(name, count):
    return f"min({','.join([name] * count)})"


REFUSED = {
    "ten megabytes of comment": "loss f value 1 #" + "x" * 10_000_000,
    "ten megabytes of blanks": " " * 10_000_000 + "loss f value 1",
    "deep brackets": "loss f value " + "(" * 20_000 + "1" + ")" * 20_000,
    "deep minus": "loss f value " + "-" * 7_000 + "1",
    "deep not": "loss f count c when " + "not " * 7_000 + "z == 1 value c",
    "deep if": "loss f value " + "if n == 1 then 1 else " * 800 + "1",
    "deep calls": "loss f value " + "abs(" * 3_000 + "1" + ")" * 3_000,
    "deep indices": "loss f memory m of z last 2 value " + "m[" * 3_000 + "0" + "]" * 3_000,
    "long sum": "loss f value " + "1 + " * 3_900 + "1",
    "long power": "loss f value " + "2 ^ " * 3_900 + "1",
    "long and": "loss f count c when " + "z == 1 and " * 1_500 + "z == 1 value c",
    "let bomb": "loss f let a0 = n " + chain("let a{k} = a{before} + a{before}", 60) + " value a59",
    "let ladder": f"loss f let a0 = n {chain('let a{k} = -(-(-(a{before})))', 400)} value a399",
    "wide value": f"loss f let a = {least(least('n', 90), 40)} "
    + " ".join(f"count c{k} by {least('a', 60)}" for k in range(40))
    + " value 1",
    "huge domain": "loss f register r in -1e300..1e300 start 0 next r value r",
    "exponent tower in a bound": "loss f register r in 0..9^9^9^9^9 start 0 next r value r",
    "long age": "loss f age a since z == 1 up to 1e12 value a",
    "long memory": "loss f memory m of z last 1000000000 value 1",
    "deep wide memory": "loss f memory m of z in 0..4000 last 60 value 1",
    "python": "import os\nos.system('touch {mark}')",
    "python value": "loss f value __import__('os').system('touch {mark}')",
    "python call": 'loss f value open("{mark}")',
    "python attribute": "loss f value ().__class__.__bases__",
    "unclosed label": 'loss f labels "a b\nvalue 1',
    "nothing": "\n\n \t\n",
    "null bytes": "loss f\x00 value 1",
    "only null bytes": "\x00" * 60_000,
    "escape codes": "\x1b]0;pwned\x07loss f value \x1b[31m 1",
    "right to left": "loss f \u202e value 1",
    "surrogate": "loss f \udcff value 1",
    "letter digits": "loss f value ²",
    "many labels and no value": "loss f labels " + " ".join(f"a{k}" for k in range(7_900)),
    "many registers": "loss f " + " ".join(f"count c{k}" for k in range(2_000)) + " value c0",
    "chain of registers": f"loss f count c0 {chain('count c{k} when c{before} > 1', 999)} value c0",
    "statement soup": "loss f " + "value " * 7_900,
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_soon_and_not_run(name, tmp_path):
    mark = tmp_path / "mark"
    text = REFUSED[name].replace("{mark}", str(mark))
    began = time.process_time()
    with pytest.raises(FsmeuError) as caught:
        fsmeu.loads(text)
    assert time.process_time() - began < PATIENCE
    assert not mark.exists()
    assert len(str(caught.value)) < 2_000
    assert "\x1b" not in str(caught.value)


BYTES = {
    "cut character": "loss f value é".encode()[:-1],
    "utf-16": "loss f value 1".encode("utf-16"),
    "gzip": b"\x1f\x8b\x08\x00" + bytes(200),
}


@pytest.mark.parametrize("name", [*BYTES, "/dev/zero", "/dev/urandom", "/dev/stdin", "/"])
def test_what_is_no_text_is_refused(name, tmp_path):
    file = tmp_path / name
    if name in BYTES:
        file.write_bytes(BYTES[name])
    with pytest.raises(FsmeuError):
        fsmeu.load(file)


@pytest.mark.parametrize(
    "text",
    [
        "loss f value 9^9^9^9^9",
        "loss f value " + "1e99 * " * 60 + "1",
        "loss f "
        + " ".join(f"count c{k} by n / 3 when y == 1" for k in range(70))
        + " value "
        + " + ".join(f"c{k}^2" for k in range(70)),
    ],
    ids=["exponent tower", "factors", "many counts"],
)
def test_refused_when_asked(text):
    """These can be read, as only the value shows what they ask for."""
    loss = fsmeu.loads(text)
    began = time.process_time()
    with pytest.raises(FsmeuError):
        fsmeu.expect(loss, "01" * 20, [0.5] * 40, engine="openfst")
    with pytest.raises(FsmeuError):
        _ = fsmeu.expect(loss, "01" * 20, [0.5] * 40).levels
    assert time.process_time() - began < 2 * PATIENCE
