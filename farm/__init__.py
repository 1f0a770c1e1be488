"""Solves many takes: orders, workers, results."""
