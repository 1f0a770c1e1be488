"""The sliders of the active armature's hand as properties: they show how it stands now, and pose it when dragged."""

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ..errors import KnuckleError
from ..hand.joints import SIDES, Side, digit_label
from ..posing.sliders import SLIDERS, Slider
from ..rig import detection_cache
from ..rig.detection_cache import DetectedHands
from ..rig.posing.posable_cache import held_hand
from ..rig.posing.rig_hand import RigHand
from .drag_solver import solver_property
from .posed_hands import chosen_hand, posed_armature
from .setting_properties import FIXED
from .slider_drag import forget_slid, settled, slide, sliders_of

if TYPE_CHECKING:
    from bpy.types import Context

ROUNDING = 2e-4
"""A slider that is nearer than this to an end, or to zero, is there."""
ABOUT = {
    "curl": "Close {digit}: 0 is straight, 1 a fist, below 0 it bends back",
    "spread": "Spread {digit} away from the others; below 0 it comes to them",
    "tip": "Bend the last joint of {digit} alone",
    "oppose": "Bring the thumb across the palm to face the fingers; below 0 it lies flat beside the palm",
    "cup": "Make the palm hollow, on the little finger's side; below 0 it is flattened",
}
OF_ALL = {"curl": "all digits", "spread": "all digits"}


def setting(slider: Slider) -> str:
    """What the property of a slider is called."""
    return slider.word if slider.digit is None else f"{slider.word}_{slider.digit.split('-')[0]}"


@dataclass(frozen=True, eq=False)
class _Shown:
    """What the sliders of a hand show until Blender evaluates something."""

    chosen: tuple[str, Side, bool]
    known: DetectedHands
    values: dict[Slider, float]


class _Now:
    """May be forgotten at any time: it is worked out anew."""

    shown: _Shown | None = None


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_shown(*_of_handler: Any) -> None:
    """Sliders read the hand anew when they are drawn next. A handler of whatever changes poses."""
    _Now.shown = None


def show_anew_if_not(known: DetectedHands) -> None:
    """Sliders that were read of other hands than are known now are read anew."""
    if _Now.shown is not None and _Now.shown.known is not known:
        forget_shown()


def value(context: "Context", slider: Slider) -> float:
    """Where a slider of the chosen hand stands; 0 where there is no such hand."""
    first, asked = posed_armature(context), context.scene.knuckle_posing
    if first is None:
        return 0.0
    chosen = first.name, asked.side, asked.dip_lock
    if _Now.shown is None or _Now.shown.chosen != chosen:
        hand = chosen_hand(context)
        known = detection_cache.known(hand[0]) if hand else None
        if hand is None or known is None:
            return 0.0
        try:
            values = _values(held_hand(*hand, known), asked.dip_lock)
        except KnuckleError:
            values = dict.fromkeys(SLIDERS, 0.0)
        _Now.shown = _Shown(chosen, known, values)
    return _Now.shown.values[slider]


def _values(held: RigHand, locked: bool) -> dict[Slider, float]:
    sliders, angles = sliders_of(held.hand, locked), held.read_pose().angles[0]
    return {slider: settled(sliders.read(angles, slider)) for slider in SLIDERS}


def _is_shown(group: Any) -> bool:
    """Whether it is the scene's whose hands are seen: sliders are of what stands there."""
    shown: bool = group.id_data == bpy.context.scene
    return shown


def _slider(slider: Slider) -> Any:
    def get(group: Any) -> float:
        return value(bpy.context, slider) if _is_shown(group) else 0.0

    def put(group: Any, to: float) -> None:
        # A field cannot report: the panel says why there are no sliders.
        with suppress(KnuckleError):
            if _is_shown(group):
                slide(bpy.context, slider, to)
        forget_shown()

    digit = f"the {digit_label(slider.digit)}" if slider.digit else OF_ALL.get(slider.word, "")
    return FloatProperty(
        name=slider.word.capitalize(),
        description=ABOUT[slider.word].format(digit=digit),
        soft_min=-1.0,
        soft_max=1.0,
        min=-1.5,
        max=1.5,
        step=1,
        precision=2,
        get=get,
        set=put,
        options=FIXED,  # type: ignore[arg-type]
    )


class KnucklePosing(bpy.types.PropertyGroup):
    """What a scene's hands are posed with: sliders that show how the active armature's hand stands."""

    __annotations__ = {
        "side": EnumProperty(
            name="Hand",
            description="The hand that the sliders pose",
            items=[(side, side.capitalize(), f"The {side} hand") for side in SIDES],
            default="right",
            options=FIXED,  # type: ignore[arg-type]
        ),
        "dip_lock": BoolProperty(
            name="DIP Lock",
            description="The last joint of a finger follows its middle one, as its tendons have it; without it, curl "
            "moves the last joint as well and it has a slider of its own",
            default=True,
            options=FIXED,  # type: ignore[arg-type]
        ),
        "solver": solver_property(options=FIXED),
        **{setting(slider): _slider(slider) for slider in SLIDERS},
    }


HANDLERS = (
    (bpy.app.handlers.load_post, forget_slid),
    (bpy.app.handlers.load_post, forget_shown),
    (bpy.app.handlers.depsgraph_update_post, forget_shown),
    (bpy.app.handlers.frame_change_post, forget_shown),
    (bpy.app.handlers.undo_post, forget_shown),
    (bpy.app.handlers.redo_post, forget_shown),
)


CLASSES = (KnucklePosing,)
PROPERTIES = ((bpy.types.Scene, "knuckle_posing", bpy.props.PointerProperty(type=KnucklePosing)),)
