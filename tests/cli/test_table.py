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
evaluate hamming -- '-1 1' '1 1' => 0.5
evaluate fscore 0110 1110 => ~ 0.8 | 2: precision 1.0 recall 0.66666
evaluate --steps hamming '[red] :smile:' '[red] [/]' => 1 [red] [red] | 2 :smile: [/]
expect fscore 110 --probs .9,.5,.3 => ~ 0.731333 | 2: precision
expect fscore 110 --probs '.2 .2 .1' -p empty=0 => ~ 0.2472
expect - 011 -m m.json < twice.loss => ~ 1.5
expect hamming 'O B-X' -m - < tags.json => ~ 0.85
expect hamming --corpus c.conll --column 2 => ~ 0.375 | ~ 0.125
expect chunk_fscore --corpus z.jsonl => 0.0 | ~ 0.75
expect --levels hamming 0000 --probs .5,.5,.5,.5 --keep 1 => 0.0625
expect hamming --corpus two.jsonl --given '0 .' => 0.25 | 0.75
decode hamming --corpus two.jsonl --given given.txt => 0.25 | 0.25
decode hamming --model p.npy => 01 | ~ 0.1
decode zero_one --model tags.json --given bio => B-X I-X
decode zero_one --model tags.json --given iob1 => I-X I-X
evaluate --steps steps.loss 'NN VB' 'NN DT' -p k=2 => 0 . . . . even 0 | 1 NN NN NN . 1 . odd 0
evaluate --steps steps.loss 'NN VB' 'NN DT' => 2 VB DT VB NN 0 1 odd 0.5 | value 0.5
evaluate --steps steps.loss 2,1 2,0 --json => {"mz": [2, null], "eq": [1, null], "state": "odd"
check wrong.loss => ok line 5: 01 00 | FAILS line 6 | with k = 3; the file says 1.0 | exit 1
check wrong.loss => FAILS line 8: 01 002, because: | division by zero | exit 1
check chunk_fscore --types NP -n 3 --json => "labels": ["O", "B-NP", "I-NP"] | exit 1
check bio.loss -n 2 => ok line 1 | 3 of 3 examples hold
check costs.loss => FAILS | 0 of 2 examples hold | exit 1
check costs.loss -n 3 -p 'cost=[[0, 1], [2, 0]]' => 2 of 2 examples hold
evaluate costs.loss ABA ABB -p 'cost=[[0, 1], [2, 0]]' --labels B,A => 2.0
check - <<< 'loss one value 1' => There are no examples
check - <<< 'loss f labels A B count c when z == "C" value c' => is not a label; the labels | exit 1
check - <<< 'loss f(k: int) count c when z == y value c + k' => Not measured | no default
check gap.loss -n 3 => no arc applies | exit 1
check fscore -n 4 => linear in tp | no: the value also looks at hyp, ref | counting (any model)
check --sizes pk -p k=2 --n 4 --json => "growth" | "n": 1 | "n": 4
check --sizes pk -p k=2 --n 4 => bad count z y weight weight
draw fscore --n 3 --minimize -f txt => utility fscore, n = 3, merged from 20 states: 8 st
draw hamming --z 'B A' --y 'B C' -f dot => A:C
draw fscore --n 12 => At most 100 states | depth 12 91
draw --probs 0.2,0.4 => independent labels
draw fscore -n 4 --given-z --depth 3 --labels n,Y --short -f dot => "n:n, Y:n"
draw fscore --n 2 -f svg --limit 3 => <svg | 2: bar chart of its layers
losses pk => loss pk( | 2: pk.loss
losses - <<< 'loss mine value 1' => loss mine value 1 | 2: # standard input
score fscore bad.jsonl --on-error skip --json => "sentences": 1 | 2: line 2 | 2 bad ones skipped
score accuracy t.conll --gold 2 --decide viterbi --draws 0 => ~ 0.3333
score accuracy t.conll --gold 2 --decide viterbi --draws 0 --given bio => 0.2500
score fscore quarter.jsonl --decide meu --draws 0 => 0.0000
score fscore quarter.jsonl --decide meu --draws 0 --calibrate held.jsonl => 1.0000
score fscore quarter.jsonl --calibrate held.jsonl => 1 sentences | 2: temperature 2.0000 of 5
score pk two.jsonl -p k=auto -s z --gold z --draws 0 => 0.0000 | 2: k = 1, half
consensus fscore - -p beta=9 <<< '{"sets": [["b"], ["b", [1, 2]]]}' => "answer": ["b", [1, 2]]
consensus chunk_fscore - --smooth 0.1 <<< '{"spans": [[[0, 1, "X"]]]}' => "answer": [[0, 1, "X"]]
--version => fsmeu | numpy | Python
draw -f html fscore --probs 0.25,0.75,0.5 => "weights":[[0.25],[0.75],[0.5]]
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
    "c.conll": "the B B:0.75 O:0.25\nend O B:0.5 O:0.5\n\nso O B:0.125 O:0.875\n",
    "z.jsonl": [
        {"model": "independent", "probabilities": [[0.25, 0.75]], "labels": ["O", "B-X"], "z": [z]}
        for z in ("B-Y", "B-X")
    ],
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
    "two.jsonl": [{"probs": [0.5, 0.5], "z": z} for z in ("00", "10")],
    "given.txt": "0\n  .\n",
    # three of four are right, at log-odds of ln 9: at ln 3 they are most probable
    "held.jsonl": [{"probs": [0.9], "y": y} for y in "1110"] + [{"probs": [0.0], "y": "1"}],
    "quarter.jsonl": [{"probs": [0.25, 0.25], "y": "11"}],
    "bad.jsonl": [{"probs": [0.9], "y": "1"}, {"probs": [2], "y": "1"}, {"y": "1", "z": "1"}],
    "t.conll": "a I-X O:0.45 B-X:0.15 I-X:0.4\nb I-X O:0.1 B-X:0.2 I-X:0.7\n\n"
    "c B-Z O:1 B-X:0 I-X:0\n",  # free: O I-X (.315); well formed: B-X I-X (.105)
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
