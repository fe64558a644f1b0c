"""Summarisation by vine growth (Daumé et al. 2009, section 6.2)."""
