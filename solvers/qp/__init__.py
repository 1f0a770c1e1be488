"""Quadratic programs of a hand's step: small, dense, many at once. See quadratic_program.py."""
