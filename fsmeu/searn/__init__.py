"""Search-based structured prediction (Daume, Langford & Marcu 2009)."""

from fsmeu.searn.oracle.cost_oracle import CostOracle, CostOracles

__all__ = ["CostOracle", "CostOracles"]
