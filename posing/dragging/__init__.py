"""Dragging a fingertip, a knuckle or the palm, with fingertips pinned."""

from .drag import GRABBED, WRIST, Drag, Pin, drag, place_of

__all__ = ["GRABBED", "WRIST", "Drag", "Pin", "drag", "place_of"]
