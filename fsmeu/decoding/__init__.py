"""Decisions: the label sequence with the best expected value, exact wherever the algebra allows."""
