"""Shared steps of the planar solvers: the palm, the planes of the digits, and bending in them (FABRIK-CGA 3.4)."""
