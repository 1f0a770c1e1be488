"""The sliders of the active armature's hand as properties: they show its current pose, and change it when dragged."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import bpy
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ..errors import KnuckleError
from ..hand.joints import SIDES, digit_label
from ..posing.sliders import SLIDERS, Slider
from ..rig import detection_cache
from ..rig.detection_cache import DetectedHands
from ..rig.posing.posable_cache import posable_hand
from ..rig.posing.rig_hand import RigHand
from .drag_solver import solver_property
from .posed_hands import chosen_hand, posed_armature
from .session import SESSION, SliderValues
from .setting_properties import NOT_ANIMATED
from .slider_drag import forget_slider_drag, slide, sliders_of, snapped

if TYPE_CHECKING:
    from bpy.types import Context

ABOUT = {
    "curl": "Close {digit}: 0 is straight, 1 a fist, below 0 it bends back",
    "spread": "Spread {digit} away from the others; below 0 it moves towards them",
    "tip": "Bend the last joint of {digit} alone",
    "oppose": "Move the thumb across the palm to face the fingers; below 0 it lies flat beside the palm",
    "cup": "Cup the palm on the little finger's side; below 0 it is flattened",
}
OF_ALL = {"curl": "all digits", "spread": "all digits"}


def setting(slider: Slider) -> str:
    """Return the name of a slider's property."""
    return slider.kind if slider.digit is None else f"{slider.kind}_{slider.digit.split('-')[0]}"


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_values(*_of_handler: Any) -> None:
    """Make sliders read the hand again when they are drawn next. A handler of all events that change poses."""
    SESSION.slider_values = None


def clear_stale_values(known: DetectedHands) -> None:
    """Make sliders read the hand again if hands were detected since they read it."""
    if SESSION.slider_values is not None and SESSION.slider_values.detected is not known:
        forget_values()


def value(context: "Context", slider: Slider) -> float:
    """Return the value of a slider for the chosen hand; 0 where there is no such hand."""
    armature, settings = posed_armature(context), context.scene.knuckle_posing
    if armature is None:
        return 0.0
    key = armature.name, settings.side, settings.dip_lock
    cached = SESSION.slider_values
    if cached is None or cached.hand != key:
        hand = chosen_hand(context)
        detected = detection_cache.cached(hand[0]) if hand else None
        if hand is None or detected is None:
            return 0.0
        try:
            values = _values(posable_hand(*hand, detected), settings.dip_lock)
        except KnuckleError:
            values = dict.fromkeys(SLIDERS, 0.0)
        cached = SESSION.slider_values = SliderValues(key, detected, values)
    return cached.values[slider]


def _values(rig_hand: RigHand, locked: bool) -> dict[Slider, float]:
    sliders, angles = sliders_of(rig_hand.hand, locked), rig_hand.read_pose().angles[0]
    return {slider: snapped(sliders.read(angles, slider)) for slider in SLIDERS}


def _is_shown(group: Any) -> bool:
    """Return whether a property group is that of the open scene, whose hands are seen."""
    is_open_scene: bool = group.id_data == bpy.context.scene
    return is_open_scene


def _slider(slider: Slider) -> Any:
    def get(group: Any) -> float:
        return value(bpy.context, slider) if _is_shown(group) else 0.0

    def put(group: Any, to: float) -> None:
        # A property cannot report errors: the panel says why there are no sliders.
        with suppress(KnuckleError):
            if _is_shown(group):
                slide(bpy.context, slider, to)
        forget_values()

    digit = f"the {digit_label(slider.digit)}" if slider.digit else OF_ALL.get(slider.kind, "")
    return FloatProperty(
        name=slider.kind.capitalize(),
        description=ABOUT[slider.kind].format(digit=digit),
        soft_min=-1.0,
        soft_max=1.0,
        min=-1.5,
        max=1.5,
        step=1,
        precision=2,
        get=get,
        set=put,
        options=NOT_ANIMATED,  # type: ignore[arg-type]
    )


class KnucklePosing(bpy.types.PropertyGroup):
    """The settings for posing in a scene, and sliders that show the pose of the active armature's hand."""

    __annotations__ = {
        "side": EnumProperty(
            name="Hand",
            description="The hand that the sliders pose",
            items=[(side, side.capitalize(), f"The {side} hand") for side in SIDES],
            default="right",
            options=NOT_ANIMATED,  # type: ignore[arg-type]
        ),
        "dip_lock": BoolProperty(
            name="DIP Lock",
            description="The last joint of a finger follows its middle one, as tendons make it do; without it, curl "
            "moves the last joint as well, and it has a slider of its own",
            default=True,
            options=NOT_ANIMATED,  # type: ignore[arg-type]
        ),
        "solver": solver_property(options=NOT_ANIMATED),
        **{setting(slider): _slider(slider) for slider in SLIDERS},
    }


HANDLERS = (
    (bpy.app.handlers.load_post, forget_slider_drag),
    (bpy.app.handlers.load_post, forget_values),
    (bpy.app.handlers.depsgraph_update_post, forget_values),
    (bpy.app.handlers.frame_change_post, forget_values),
    (bpy.app.handlers.undo_post, forget_values),
    (bpy.app.handlers.redo_post, forget_values),
)


CLASSES = (KnucklePosing,)
PROPERTIES = ((bpy.types.Scene, "knuckle_posing", bpy.props.PointerProperty(type=KnucklePosing)),)
