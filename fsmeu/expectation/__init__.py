"""Expectations: queries of the composition hypothesis o loss o model."""
