"""Learners of cost-sensitive decisions on sparse rows."""
