"""What `fsmeu check` derives from a loss file, measures and reports."""
