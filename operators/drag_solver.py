"""The solver of drags, as a setting of the scene and of a drag."""

from typing import Any

from bpy.props import EnumProperty

from ..posing.dragging import LABELS, NEAREST
from .setting_properties import choice_number


def solver_property(**more: Any) -> Any:
    """Make the property. more: further arguments of EnumProperty."""
    items = [(name, label.name, label.about, "NONE", choice_number(name)) for name, label in LABELS.items()]
    return EnumProperty(name="Solver", description="What bends the digits", items=items, default=NEAREST, **more)
