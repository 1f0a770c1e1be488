"""Properties that say how a capture's file is read: the same in the sidebar and in the import dialogue."""

from typing import Any

from bpy.props import EnumProperty, FloatProperty, StringProperty

from ..capture.conventions import METRES, UPS
from ..capture.timestamps import MAX_RATE_HZ


def unit_property() -> Any:
    """Make the property that overrides a file's unit of length."""
    return EnumProperty(
        name="Unit",
        description="Unit of length of the file, if it names a wrong one or none",
        items=[("auto", "Auto", "As the file says; otherwise guessed from the size of its content")]
        + [(unit, unit, f"The file is in {unit}, whatever it says") for unit in METRES],
        options=set(),
    )


def up_property() -> Any:
    """Make the property that overrides a file's up axis."""
    return EnumProperty(
        name="Up",
        description="Which axis of the file points up",
        items=[("auto", "Auto", "As the file says; otherwise the usual axis of its format")]
        + [(axis, axis.upper(), f"{axis.upper()} points up in the file") for axis in UPS],
        options=set(),
    )


def animation_property() -> Any:
    """Make the property that chooses an animation of a file."""
    return StringProperty(
        name="Animation",
        description="Animation to read from a file that holds several. If empty, the one that Blender plays",
        options=set(),
    )


def rate_property() -> Any:
    """Make the property that overrides a file's times; 0 for none."""
    return FloatProperty(
        name="Capture Rate",
        description="Frames per second of the capture, for files without times or with wrong ones. 0 goes by the file",
        default=0.0,
        min=0.0,
        max=MAX_RATE_HZ,
        precision=2,
        options=set(),
    )
