"""Losses that are sums of ratios of counts, others that are not, and probabilities for them."""

import numpy as np

import fsmeu

COUNTS = """labels 0 1 count tp when z == 1 and y == 1 count hyp when z == 1
count ref when y == 1 """
TEXTS = {
    "one side": f"utility f {COUNTS} value tp / (2 * n - ref)",
    "an offset": f"utility f {COUNTS} value (3 * tp - hyp + 2 * n) / (5 * n + 2 * hyp + ref - tp)",
    "a loss": f"loss f {COUNTS} value (hyp - tp) / (hyp + ref) or 1 / 3 when hyp + ref == 0",
}
LOSSES = [
    ("fscore", {}),
    ("fscore", {"beta": 2, "empty": 0}),
    ("fscore", {"alpha": 0}),
    ("jaccard", {}),
    ("precision", {}),
    ("recall", {}),
    ("specificity", {}),
    ("balanced_accuracy", {}),
    ("balanced_accuracy", {"drop": 0, "empty": 0}),
    ("g_tp_pr", {"empty": 0.5}),
    ("kappa", {}),
    ("accuracy", {}),
    ("hamming", {}),
    *((name, {}) for name in TEXTS),
]
TEXTS |= {  # no sums of ratios, or with conditions
    "decided": f"utility f {COUNTS} value if hyp + ref != 0 and not (hyp == 0 and n < 0) "
    "then tp / (hyp + ref) else 1",
    "undecided": f"utility f {COUNTS} value tp / (n + hyp) or 1 when tp == 0 and n == 9",
    "mistakes": f"""loss f {COUNTS} count wrong by if z == 1 then 2 else 1 when z != y
value wrong / (3 * ref + sqrt(hyp) + 1) range 0 .. 2 * n""",
    "of label 0": """utility f labels 0 1 count tn when z == 0 and y == 0 count no when z == 0
count neg when y == 0 value tn / sqrt(no * neg) or 1 when no + neg == 0 or 0 when no * neg == 0
range 0 .. 1""",
}


def loaded(name, params=None):
    return fsmeu.loads(TEXTS[name]) if name in TEXTS else fsmeu.load(name, **(params or {}))


def chances(seed, n):
    """Probabilities of many kinds, descending, some 0 or 1, some equal, some rare."""
    random = np.random.default_rng(seed)
    p = random.beta(*random.choice([0.1, 0.5, 2.0, 20.0], 2), size=n)
    p *= random.choice([1.0, 1.0, 0.1, 1e-3])
    some = random.random(n) < random.choice([0.0, 0.3, 1.0])
    p[some] = random.choice([0.0, 1.0, 0.25], size=int(some.sum()))
    return np.sort(p)[::-1].copy()
