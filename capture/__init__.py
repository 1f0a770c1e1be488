"""Recordings and live devices, read into `Markers` and frames."""

from .formats import read
from .markers import Markers

__all__ = ["Markers", "read"]
