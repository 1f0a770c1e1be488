"""The settings of the algebra overlay. None of them is saved in a file."""

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ..hand.joints import DIGITS, digit_label, digit_title
from ..rig.posing.algebra import PARTS
from .session import SESSION
from .setting_properties import NOT_ANIMATED

MAX_STEPS = 5
"""Maximum number of steps of a part of the hand."""
ABOUT = {
    "arm": "Shoulder, elbow and wrist, if the hand has an arm",
    "palm": "The palm's plane and the knuckles on it",
} | {digit: f"The {digit_label(digit)}" for digit in DIGITS}


def _show(_group: Any) -> bool:
    return SESSION.algebra_shown


def _set_show(_group: Any, on: bool) -> None:
    SESSION.algebra_shown = on
    SESSION.draw_algebra(on)


def _redraw(_group: Any, context: Any) -> None:
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()


class KnuckleAlgebra(bpy.types.PropertyGroup):
    """The settings of the algebra overlay."""

    show: BoolProperty(
        name="Show Solver Debug",
        description="Draw the spheres, circles, planes and limits with which the solver finds this pose, to see how it "
        "works and why a finger goes where it goes",
        get=_show,
        set=_set_show,
        options=NOT_ANIMATED,
    )
    parts: EnumProperty(
        name="Part of Hand",
        description="Which parts of the hand are shown",
        items=[(part, digit_title(part), ABOUT[part], 2**number) for number, part in enumerate(PARTS)],
        default={"index-finger"},
        options={"ENUM_FLAG"},
        update=_redraw,
    )
    step: IntProperty(
        name="Step",
        description="Step of the solver that is shown. 0 shows all steps",
        min=0,
        max=MAX_STEPS,
        default=0,
        update=_redraw,
        options=NOT_ANIMATED,
    )
    names: BoolProperty(
        name="Names",
        description="Show the names that are used in the papers",
        default=True,
        update=_redraw,
        options=NOT_ANIMATED,
    )


CLASSES = (KnuckleAlgebra,)
PROPERTIES = ((bpy.types.WindowManager, "knuckle_algebra", bpy.props.PointerProperty(type=KnuckleAlgebra)),)
