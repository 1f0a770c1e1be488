"""Fit a hand with markers on its skin to takes, and find its pose in each frame."""

from .fit import FittedHands, Recording, fit, fit_hands
from .skin_fit import SkinFit

__all__ = ["FittedHands", "Recording", "SkinFit", "fit", "fit_hands"]
