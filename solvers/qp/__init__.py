"""Batches of small dense quadratic programs; see quadratic_program.py."""
