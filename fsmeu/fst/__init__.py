"""Finite-state machines: the only floor that touches pynini."""
