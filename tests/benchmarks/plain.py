"""Expected F1 without fsmeu: in plain Python, and with machines that are built arc by arc."""

import math

import pynini


class FScore:
    """F1 of a fixed hypothesis as a simple function (Jansche 2007, section 3.3).

    A state is (true positives, positives of the reference) so far.
    """

    def __init__(self, z):
        self.hypothesis = sum(z)

    def start(self):
        return (0, 0)

    def transition(self, state, z, y):
        true_positives, positives = state
        return (true_positives + (1 if z == 1 and y == 1 else 0), positives + (1 if y == 1 else 0))

    def value(self, state):
        true_positives, positives = state
        both = self.hypothesis + positives
        return 2 * true_positives / both if both else 1.0


def algorithm_4(function, z, p):
    """The expected value, the probabilities of the states held in a dictionary layer by layer."""
    masses = {function.start(): 1.0}
    for i in range(len(z)):
        after = {}
        for state, mass in masses.items():
            for y, probability in ((0, 1.0 - p[i]), (1, p[i])):
                target = function.transition(state, z[i], y)
                if target not in after:
                    after[target] = 0.0
                after[target] += mass * probability
        masses = after
    return sum(function.value(state) * mass for state, mass in masses.items())


# -- machines, one arc at a time ------------------------------------------------------------------


def weight(probability):
    return pynini.Weight("log64", -math.log(probability) if probability else math.inf)


def acceptor(rows):
    """The acceptor that reads one of the (label, probability) of each row; label y is y + 1."""
    machine = pynini.Fst("log64")
    state = machine.add_state()
    machine.set_start(state)
    for row in rows:
        target = machine.add_state()
        for label, probability in row:
            machine.add_arc(state, pynini.Arc(label + 1, label + 1, weight(probability), target))
        state = target
    return machine.set_final(state, weight(1.0))


def loss_machine(function, z):
    """The transducer of a simple function, as far as this hypothesis reaches."""
    machine = pynini.Fst("log64")
    numbers = {function.start(): machine.add_state()}
    machine.set_start(0)
    done = set()
    layer = {function.start()}
    for label in z:
        after = set()
        for state in layer:
            targets = [function.transition(state, label, y) for y in (0, 1)]
            after.update(targets)
            if (state, label) in done:
                continue
            done.add((state, label))
            for y, target in enumerate(targets):
                if target not in numbers:
                    numbers[target] = machine.add_state()
                arc = pynini.Arc(label + 1, y + 1, weight(1.0), numbers[target])
                machine.add_arc(numbers[state], arc)
        layer = after
    for state in layer:
        machine.set_final(numbers[state], weight(function.value(state)))
    return machine.arcsort("ilabel")


def arc_by_arc(z, p):
    """The expected value as the total weight of hypothesis o loss o model, all by pynini."""
    hypothesis = acceptor([[(label, 1.0)] for label in z])
    whole = pynini.compose(hypothesis, loss_machine(FScore(z), z), connect=False)
    whole = pynini.compose(whole, acceptor([[(0, 1.0 - x), (1, x)] for x in p]), connect=False)
    distance = pynini.shortestdistance(whole, reverse=True, delta=1e-300)
    return math.exp(-float(distance[whole.start()]))
