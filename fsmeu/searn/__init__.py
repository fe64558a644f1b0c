"""Search-based structured prediction (SEARN; Daumé, Langford and Marcu 2009)."""
