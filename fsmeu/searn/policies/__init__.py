"""Policies, what decides in a state, and searches that follow them."""
