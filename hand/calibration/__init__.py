"""Measuring a performer's hand from a capture."""
