"""Trellises: the steps of a loss, composed with a label model, and the sweeps over them."""
