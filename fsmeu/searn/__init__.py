"""Search-based structured prediction (Daumé, Langford and Marcu 2009) for any loss."""

from fsmeu.searn.column_tagger import ColumnTagger
from fsmeu.searn.oracle.cost_oracle import CostOracle, CostOracles
from fsmeu.searn.searn import Searn

__all__ = ["ColumnTagger", "CostOracle", "CostOracles", "Searn"]
