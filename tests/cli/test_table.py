"""Commands, and what stands in their output.

Of a line of ``TABLE``, the words behind ``fsmeu`` and parts that stand in the output in this order,
however it is wrapped; ``~ NUMBER`` is a word that is this number to six places. Behind ``2:`` is
what stands on stderr. ``exit 1`` is how a file ends that does not hold, or a machine that cannot
compute. ``<<< TEXT`` is standard input.
"""

import re
import shlex

import numpy as np
import pytest

from tests.cli.commands import fsmeu, write

TABLE = """
evaluate hamming 'A B A' ABC => ~ 0.333333
evaluate hamming 'A, B, A' A,B,C => ~ 0.333333
evaluate hamming ABA ABC --json => "n": 3, "value": 0.3333
evaluate accuracy '' '' => 1.0
evaluate recall NYN YYN --labels N,Y => 0.5
evaluate hamming -- '-1 1' '1 1' => 0.5
evaluate fscore 0110 1110 => ~ 0.8 | 2: precision 1.0 recall 0.66666
evaluate --steps hamming '[red] :smile:' '[red] [/]' => 1 [red] [red] | 2 :smile: [/]
expect fscore 110 --probs .9,.5,.3 => ~ 0.731333 | 2: precision
expect fscore 110 --probs .9,.5,.3 --engine openfst => ~ 0.731333
expect fscore 1100 --probs .45,.3,.2,.1 => ~ 0.423720
expect fscore 000 --probs .2,.2,.1 => ~ 0.576
expect fscore 110 --probs '.2 .2 .1' -p empty=0 => ~ 0.2472
expect fscore '' --probs '' => 1.0
expect twice.loss 011 -m m.json => ~ 1.5
expect - 011 -m m.json < twice.loss => ~ 1.5
expect hamming 'O B-X' -m - < tags.json => ~ 0.85
expect chunk_fscore B-Y -m one.json => 0.0
expect hamming --corpus c.conll --column 2 => ~ 0.375 | ~ 0.125
expect chunk_fscore --corpus z.jsonl => 0.0 | ~ 0.75
expect --levels hamming 0000 --probs .5,.5,.5,.5 --keep 1 => 0.0625
expect hamming 00 --probs .5,.5 --given '0 .' => 0.25
expect hamming --corpus two.jsonl --given '0 .' => 0.25 | 0.75
decode hamming --corpus two.jsonl --given given.txt => 0.25 | 0.25
decode hamming --model tags.json => I-X I-X | ~ 0.35
decode hamming --model p.npy => 01 | ~ 0.1
decode fscore --probs 0.9,0.5,0.3 --explain => 11 | ~ 0.731333 | Decided by ratios
decode zero_one --model tags.json --given bio => B-X I-X
decode zero_one --model tags.json --given iob1 => I-X I-X
decode hamming --probs .9,.1,.9 --constraint '0 .*' => 001
evaluate --steps steps.loss 'NN VB' 'NN DT' -p k=2 => 0 . . . . even 0 | 1 NN NN NN . 1 . odd 0
evaluate --steps steps.loss 'NN VB' 'NN DT' => 2 VB DT VB NN 0 1 odd 0.5 | value 0.5
evaluate --steps steps.loss 2,1 2,0 --json => {"mz": [2, null], "eq": [1, null], "state": "odd"
check wrong.loss => ok line 5: 01 00 | FAILS line 6 | with k = 3; the file says 1.0 | exit 1
check wrong.loss => FAILS line 8: 01 002, because: | division by zero | exit 1
check back.loss -n 3 => TP-monotonic no | tp=0 fp=1 fn=1
check last.loss -n 6 => additive decides for that: count at_end
check pk -n 3 --json => "assumed": ["k"]
check chunk_fscore --types NP -n 3 --json => "labels": ["O", "B-NP", "I-NP"] | exit 1
check bio.loss -n 2 => ok line 1 | 3 of 3 examples hold
check costs.loss => FAILS | 0 of 2 examples hold | exit 1
check costs.loss -n 3 -p 'cost=[[0, 1], [2, 0]]' => 2 of 2 examples hold
evaluate costs.loss ABA ABB -p 'cost=[[0, 1], [2, 0]]' --labels A,B => 1.0
evaluate costs.loss ABA ABB -p 'cost=[[0, 1], [2, 0]]' --labels B,A => 2.0
check - <<< 'loss one value 1' => There are no examples
check - <<< 'loss f labels A B count c when z == "C" value c' => is not a label; the labels | exit 1
check - <<< 'loss f(k: int) count c when z == y value c + k' => Not measured | no default
check - <<< 'loss f count c when z == y value 1 / c' => Measuring it FAILS, because: | exit 1
check gap.loss -n 3 => no arc applies | exit 1
check fscore -n 4 => linear in tp | no: the value also looks at hyp, ref | counting (any model)
check pk -n 4 => k = 3 (assumed)
check pk -n 4 -p k=2 => additive yes | confusion table no: z=
check windowdiff -n 4 => redundant seen: the others decide the value
check event_fscore -n 3 -p tolerance=2 => events of z stand more than 2 * tolerance apart
check cost_matrix -n 4 -p cost=1e308 => not a finite number | exit 1
check --sizes pk -p k=2 --n 4 => bad count z y weight weight
draw hamming --n 2 => ((bad=0)) | = 0.5
draw fscore --n 3 --minimize -f txt => utility fscore, n = 3, merged from 20 states: 8 st
draw hamming --z 'B A' --y 'B C' -f dot => A:C
draw hamming --n 3 --summed => loss hamming, n = 3, summed | = 0.3333
draw fscore --n 12 => At most 100 states | depth 12 91
draw fscore --z 11 --probs 0.9,0.5 => = 1 p 0.45
draw --probs 0.2,0.4 => independent labels
draw hmm.json -f txt => hidden Markov model, given its observations, n = 2:
draw fscore -n 4 --given-z --depth 3 --labels n,Y --short -f dot => "n:n, Y:n"
draw fscore --n 2 -f svg --limit 3 => <svg | 2: bar chart of its layers
draw zero_one --n 2 -f svg --short => <svg
losses pk => loss pk( | 2: pk.loss
losses mine.loss --json => "mine" | "low": -1, "high": 8, "text": "a: int = min(3, 4) in -1..2^3"
losses - <<< 'loss mine value 1' => loss mine value 1 | 2: # standard input
score fscore bad.jsonl --on-error skip --json => "sentences": 1 | 2: line 2 | 2 bad ones skipped
score accuracy t.conll --gold 2 --decide viterbi --draws 0 => ~ 0.3333
score accuracy t.conll --gold 2 --decide viterbi --draws 0 --given bio => 0.2500
score fscore yes.iob2 --labels no,yes --draws 0 => 0.6667
score fscore quarter.jsonl --decide meu --draws 0 => 0.0000
score fscore quarter.jsonl --decide meu --draws 0 --calibrate held.jsonl => 1.0000
score fscore quarter.jsonl --calibrate held.jsonl => 1 sentences | 2: temperature 2.0000 of 5
score fscore quarter.jsonl --calibrate held.jsonl --json => "temperature": | 2: 1 impossible ones
score pk two.jsonl -p k=auto -s z --gold z --draws 0 => 0.0000 | 2: k = 1, half
consensus fscore - <<< '{"sequences": ["0110", "0100"]}' => "record": 1
consensus hamming - <<< '{"sequences": ["0", "1"], "weights": [1, 2], "id": 7}' => 7, "answer": "1"
consensus fscore - -p beta=9 <<< '{"sets": [["b"], ["b", [1, 2]]]}' => "answer": ["b", [1, 2]]
consensus chunk_fscore - --smooth 0.1 <<< '{"spans": [[[0, 1, "X"]]]}' => "answer": [[0, 1, "X"]]
doctor => numpy | fsmeu computes: the expected F1 of a small example is right.
"""
FILES = {
    "twice.loss": "loss twice labels 0 1 count bad when z != y value 2 * bad",
    "m.json": {"probs": [0.25, 0.5, 1.0]},
    "tags.json": {
        "model": "independent",
        "probabilities": [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],
        "labels": ["O", "B-X", "I-X"],
    },
    "one.json": {"model": "independent", "probabilities": [[0.25, 0.75]], "labels": ["O", "B-X"]},
    "c.conll": "the B B:0.75 O:0.25\nend O B:0.5 O:0.5\n\nso O B:0.125 O:0.875\n",
    "z.jsonl": [
        {"model": "independent", "probabilities": [[0.25, 0.75]], "labels": ["O", "B-X"], "z": [z]}
        for z in ("B-Y", "B-X")
    ],
    "hmm.json": {
        "model": "hmm",
        "initial": [1, 0],
        "transition": [[0.5, 0.5], [0, 1]],
        "labels": ["A", "B"],
        "emission": [[1, 0], [0.5, 0.5]],
        "observations": [0, 0],
    },
    "bio.loss": "utility f labels bio count bad by -1/2 when type(z) != type(y) "
    'value bad / n or 1 when n == 0 example "O B-NP" "O B-VP" = -1/4 example O B-NP = -0.5 '
    "example OOO OOO = 0",
    "costs.loss": "loss costs(cost: table, w = 1)\nlabels any\ncount total by w * cost[z, y]\n"
    "value total\nexample ABA AAB = 3\nexample ABA AAB = 6 with w = 2",
    "steps.loss": "loss changes(k: int = 2)\nlabels any\nmemory mz of z last k\n"
    "memory eq of (z == y) last 2\nstate even odd\narc even -> odd when z == y\n"
    "arc even -> even otherwise\narc odd -> even when z == y\narc odd -> odd otherwise\n"
    "count cost by 1/2 when z != y\nvalue cost",
    "wrong.loss": "loss wrong(k: int = 2)\nlabels 0 1\ncount bad when z != y\n"
    "value bad / (bad + k - 1)\nexample 01 00 = 1/2\nexample 01 00 = 1 with k = 3\n"
    "example 01 00 = 1/3 with k = 3\nexample 01 002 = 1\nexample 01 0 = 1\n"
    "example 01 01 = 0 with k = 1",
    "back.loss": "utility f labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1 "
    "value hyp - tp^2",
    "last.loss": "loss f\nlabels 0 1\nregister fin in 0..1 start 0 next (z != y)\nvalue fin",
    "two.jsonl": [{"probs": [0.5, 0.5], "z": z} for z in ("00", "10")],
    "given.txt": "0\n  .\n",
    # three of four are right, at log-odds of ln 9: at ln 3 they are most probable
    "held.jsonl": [{"probs": [0.9], "y": y} for y in "1110"] + [{"probs": [0.0], "y": "1"}],
    "quarter.jsonl": [{"probs": [0.25, 0.25], "y": "11"}],
    "mine.loss": "utility mine(a: int = min(3, 4) in -1..2^3,  # (first, of three\n b = a / 2, "
    'c: table) "what, it (is)" reference "R" labels bio flag f when z == y value f',
    "bad.jsonl": [{"probs": [0.9], "y": "1"}, {"probs": [2], "y": "1"}, {"y": "1", "z": "1"}],
    "t.conll": "a I-X O:0.45 B-X:0.15 I-X:0.4\nb I-X O:0.1 B-X:0.2 I-X:0.7\n\n"
    "c B-Z O:1 B-X:0 I-X:0\n",  # free: O I-X (.315); well formed: B-X I-X (.105)
    "yes.iob2": "a no no\nb yes yes\nc yes no\n",
    "gap.loss": "loss gap labels 0 1 state a b arc a -> b when z == 1 arc b -> b value at b",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    for name, content in FILES.items():
        write(folder / name, content)
    np.save(folder / "p.npy", np.array([(0.9, 0.1), (0.1, 0.9)]))
    return folder


def behind(part, text):
    """What stands behind the first place of a part in a text; fails where there is none."""
    if not part.startswith("~ "):
        assert part in text
        return text.partition(part)[2]
    wanted = pytest.approx(float(part[2:]), abs=1e-6)
    found = [m for m in re.finditer(r"-?\d+\.\d+", text) if float(m[0]) == wanted]
    assert found, (part, text)
    return text[found[0].end() :]


@pytest.mark.parametrize("line", TABLE.strip().splitlines())
def test_table(folder, monkeypatch, line):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    command, _, said = line.partition(" => ")
    words, stdin = shlex.split(command), None
    if words[-2:-1] in (["<"], ["<<<"]):
        *words, sign, source = words
        stdin = source if sign == "<<<" else (folder / source).read_text()
    said, _, noted = said.partition(" | 2: ")
    parts, notes = said.split(" | "), noted.split(" | ") if noted else []
    fails = parts[-1] == "exit 1"
    ran = fsmeu(*words, stdin=stdin)
    assert ran.code == fails, ran.err
    for text, expected in ((ran.out, parts[: len(parts) - fails]), (ran.err, notes)):
        rest = " ".join(text.split())
        for part in expected:
            rest = behind(part, rest)
