"""Recordings and live devices, read into `Markers` and frames."""

from .formats import open_long, read
from .long_capture import LongCapture
from .markers import Markers

__all__ = ["LongCapture", "Markers", "open_long", "read"]
