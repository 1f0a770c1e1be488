"""Which solver bends the digits of a hand that is dragged: for the scene, and for one drag."""

from typing import Any

from bpy.props import EnumProperty

from ..posing.dragging import LABELS, NEAREST
from .setting_properties import choice_number


def solver_property(**more: Any) -> Any:
    """What bends the digits."""
    items = [(name, label.name, label.about, "NONE", choice_number(name)) for name, label in LABELS.items()]
    return EnumProperty(name="Solver", description="What bends the digits", items=items, default=NEAREST, **more)
