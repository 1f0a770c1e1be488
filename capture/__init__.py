"""Recordings of hands: `read(path) -> Markers`, one file a format."""

from .formats import read
from .markers import Markers

__all__ = ["Markers", "read"]
