"""Dragging a fingertip, a knuckle or the palm, with fingertips pinned."""

from .begin_drag import drag
from .drag import DRAGGABLE, WRIST, Drag
from .drag_pins import Pin
from .drag_solvers import DRAG_SOLVERS, LABELS, NEAREST
from .drag_step import DragSolver, DragStep

__all__ = ["DRAGGABLE", "DRAG_SOLVERS", "LABELS", "NEAREST", "WRIST", "Drag", "DragSolver", "DragStep", "Pin", "drag"]
