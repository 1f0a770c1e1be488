"""Dragging a fingertip, a knuckle or the palm, with fingertips pinned."""

from .drag import DRAGGABLE, WRIST, Drag
from .drag_pins import Pin
from .drag_solvers import DRAG_SOLVERS, LABELS, NEAREST
from .drag_step import DragSolver, DragStep
from .start_drag import start_drag

__all__ = [
    "DRAGGABLE",
    "DRAG_SOLVERS",
    "LABELS",
    "NEAREST",
    "WRIST",
    "Drag",
    "DragSolver",
    "DragStep",
    "Pin",
    "start_drag",
]
