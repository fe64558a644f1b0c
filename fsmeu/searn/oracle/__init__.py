"""Costs of actions: what can still be reached after each next label, the reference given."""
