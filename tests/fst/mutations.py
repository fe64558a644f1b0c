"""Files of machines with mistakes in them, read one after the other; run as a program.

It prints a line for every outcome with its number of cases, and ends the process only where
OpenFst, or the system, ends it: so a test runs it as a process of its own.

    python -m tests.fst.mutations FIRST COUNT
"""

import random
import resource
import sys
from collections import Counter

import pynini
import pywrapfst

import fsmeu
from fsmeu.errors import FsmeuError

MEMORY = 3 * 2**30


def images():
    """Bytes of machines of every arc type and file type, with and without symbol tables."""
    named = fsmeu.load("hamming", labels=["O", "B-é", "I-x"]).compile(2).fst
    plain = fsmeu.load("fscore").compile(3).fst
    model = fsmeu.models.Markov([0.3, 0.7], [[0.6, 0.4], [0.2, 0.8]], n=4)
    wide = fsmeu.models.Acceptor(model.layered()).fst
    plain.set_input_symbols(None)
    plain.set_output_symbols(None)
    found = []
    for fst in (fsmeu.load("hamming").compile(3).fst, named, plain, wide, pynini.Fst("log64")):
        for arc_type in ("log64", "log", "standard"):
            kept = fst if arc_type == "log64" else _converted(fst, arc_type)
            found.append(kept.write_to_string())
            found.append(pywrapfst.convert(kept, "const").write_to_string())
    return found


def _converted(fst, arc_type):
    return pynini.arcmap(fst, map_type={"log": "to_log", "standard": "to_std"}[arc_type])


def mutated(image, rng):
    """The bytes with one mistake, or several."""
    content = bytearray(image)
    kind = rng.randrange(6)
    if kind == 0:  # one byte
        content[rng.randrange(len(content))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    elif kind == 1:  # several bytes
        for _ in range(rng.randrange(2, 12)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    elif kind == 2:  # cut short
        del content[rng.randrange(len(content)) :]
    elif kind == 3:  # too much
        at = rng.randrange(len(content) + 1)
        content[at:at] = rng.randbytes(rng.randrange(1, 24))
    elif kind == 4:  # a number of 4 or 8 bytes, often a large one
        size = rng.choice((4, 8))
        number = rng.choice((-1, -2, 2**31 - 1, 2**31, 2**62, rng.getrandbits(8 * size), 0, 1, 5))
        at = rng.randrange(len(content) - 8)
        content[at : at + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
    else:  # a part left out
        at = rng.randrange(len(content))
        del content[at : at + rng.randrange(1, 24)]
    return bytes(content)


def outcome(image):
    """What becomes of the bytes: 'machine', or the name of the error."""
    try:
        machine = fsmeu.from_openfst(image)
        machine.fst.verify()
        _use(machine)
    except FsmeuError as error:
        text = str(error)
        return type(error).__name__ if "\n" not in text and ": " in text else repr(text)
    except Exception as error:
        return f"FAULT {type(error).__name__}: {error}"
    return "machine"


def _use(machine):
    """What users do with a machine; each may be refused in a sentence of its own."""
    for use in (
        lambda: fsmeu.to_openfst(machine),
        lambda: fsmeu.models.Acceptor(machine.fst, [0, 1]),
    ):
        try:
            use()
        except FsmeuError:
            continue


def main(first, count):
    """Reads the cases ``first``, ..., ``first + count - 1``."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    originals = images()
    tally = Counter()
    for number in range(first, first + count):
        rng = random.Random(number)
        found = outcome(mutated(rng.choice(originals), rng))
        if found.startswith(("FAULT", "'", '"')):
            print(f"case {number}")
        tally[found] += 1
    for name, cases in sorted(tally.items()):
        print(f"{name}\t{cases}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
