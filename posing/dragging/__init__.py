"""Dragging a fingertip, a knuckle or the palm, with fingertips pinned."""

from .bending import Bending, Course
from .drag import GRABBED, WRIST, Drag, Pin, drag, place_of
from .kinds import KINDS, LABELS, NEAREST

__all__ = ["GRABBED", "KINDS", "LABELS", "NEAREST", "WRIST", "Bending", "Course", "Drag", "Pin", "drag", "place_of"]
