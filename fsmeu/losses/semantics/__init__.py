"""A spec with its labels and parameters, and the evaluation of its expressions."""
