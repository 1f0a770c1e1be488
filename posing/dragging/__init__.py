"""Dragging a fingertip, a knuckle or the palm, with fingertips pinned."""

from .drag import DRAGGABLE, WRIST, Drag, DragSolver, DragStep, Pin, drag
from .drag_solvers import DRAG_SOLVERS, LABELS, NEAREST

__all__ = ["DRAGGABLE", "DRAG_SOLVERS", "LABELS", "NEAREST", "WRIST", "Drag", "DragSolver", "DragStep", "Pin", "drag"]
