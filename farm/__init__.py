"""Solving many takes: the orders, the workers, and the results."""
