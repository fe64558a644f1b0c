"""What ``daume2009.py`` runs: tasks, baselines, results, and summarisation by vine growth."""
