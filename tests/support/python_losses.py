"""Losses written in Python, as users write them."""


class Mistakes:
    """How many positions differ."""

    def start(self):
        return 0

    def step(self, state, z, y):
        return state + (z != y)

    def value(self, state):
        return float(state)


class Constant(Mistakes):
    """The same for all pairs."""

    def step(self, state, z, y):
        return state


class Keeper:
    """How many mistakes, or labels of y, all that was read being kept."""

    def __init__(self, mistakes=False):
        self.mistakes = mistakes

    def start(self):
        return ()

    def step(self, state, z, y):
        return (*state, z != y if self.mistakes else y)

    def value(self, state):
        return float(sum(state))
