"""Recordings and devices, read into markers: `read(path) -> Markers`."""

from .formats import read
from .markers import Markers

__all__ = ["Markers", "read"]
