"""The optimal policy for chunks, by hand (Daume et al. 2009, section 6.1.6, equation 18)."""


def optimal(y, prefix):
    """The next tag: that of y, unless it goes on with a chunk that the prefix is not in."""
    tag = y[len(prefix)]
    kind, _, name = tag.partition("-")
    if kind == "B":
        return tag
    if kind == "I" and prefix and prefix[-1] in (f"B-{name}", f"I-{name}"):
        return tag
    return "O"


def well_formed(rng, types, n):
    """A random sequence in which I follows B or I of its type only."""
    tags = []
    for _ in range(n):
        last = tags[-1][2:] if tags and tags[-1] != "O" else None
        choices = ["O", f"B-{rng.choice(types)}"] + ([f"I-{last}"] * 2 if last else [])
        tags.append(rng.choice(choices))
    return tags
