"""Corrections: changes of a take that are kept as data beside it, so that they outlast a new solve."""
