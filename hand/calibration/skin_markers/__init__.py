"""Markers on the skin: the hand that wore them, fitted from takes of it, and its pose in each frame."""

from .fit import fit
from .model import WornHand

__all__ = ["WornHand", "fit"]
