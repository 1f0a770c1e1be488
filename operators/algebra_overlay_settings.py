"""What is shown of the algebra. Nothing of it is kept in a file."""

from collections.abc import Callable
from typing import Any, ClassVar

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ..hand.joints import DIGITS, digit_label
from ..rig.posing.algebra import PARTS
from .setting_properties import FIXED

STEPS = 5
"""The most that a part has."""
ABOUT = {
    "arm": "Shoulder, elbow and wrist, where the hand hangs on an arm",
    "palm": "The palm's plane and the knuckles on it",
} | {digit: f"The {digit_label(digit)}" for digit in DIGITS}


class Showing:
    """Whether it is shown: until Blender is closed, whatever file is open."""

    on: ClassVar[bool] = False
    switched: ClassVar[Callable[[bool], None]] = staticmethod(lambda _on: None)
    """What draws, to be told."""


def _show(_group: Any) -> bool:
    return Showing.on


def _set_show(_group: Any, on: bool) -> None:
    Showing.on = on
    Showing.switched(on)


def _redraw(_group: Any, context: Any) -> None:
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


class KnuckleAlgebra(bpy.types.PropertyGroup):
    """How the solver is shown at work."""

    show: BoolProperty(
        name="Show the Algebra",
        description="Draw the spheres, circles, planes and limits with which the solver finds this pose, to see how it "
        "works and why a finger goes where it goes",
        get=_show,
        set=_set_show,
        options=FIXED,
    )
    parts: EnumProperty(
        name="Of",
        description="What of the hand",
        items=[
            (part, digit_label(part).removesuffix(" finger").capitalize(), ABOUT[part], 2**number)
            for number, part in enumerate(PARTS)
        ],
        default={"index-finger"},
        options={"ENUM_FLAG"},
        update=_redraw,
    )
    step: IntProperty(
        name="Step",
        description="Which step of the solver; 0 shows all of them at once",
        min=0,
        max=STEPS,
        default=0,
        update=_redraw,
        options=FIXED,
    )
    names: BoolProperty(
        name="Names",
        description="Write the names that the papers give them",
        default=True,
        update=_redraw,
        options=FIXED,
    )


CLASSES = (KnuckleAlgebra,)
PROPERTIES = ((bpy.types.WindowManager, "knuckle_algebra", bpy.props.PointerProperty(type=KnuckleAlgebra)),)
