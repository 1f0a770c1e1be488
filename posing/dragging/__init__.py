"""Dragging a fingertip, a knuckle or the palm, with fingertips pinned."""

from .digit_solver import Bending, DragStep
from .digit_solver_choices import KINDS, LABELS, NEAREST
from .drag import GRABBED, WRIST, Drag, Pin, drag, place_of

__all__ = ["GRABBED", "KINDS", "LABELS", "NEAREST", "WRIST", "Bending", "Drag", "DragStep", "Pin", "drag", "place_of"]
