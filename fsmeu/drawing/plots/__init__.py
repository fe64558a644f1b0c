"""Distributions as plots."""
