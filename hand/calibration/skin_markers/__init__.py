"""Fit a hand with markers on its skin to takes, and find its pose in each frame."""

from .fit import fit
from .skin_fit import SkinFit

__all__ = ["SkinFit", "fit"]
