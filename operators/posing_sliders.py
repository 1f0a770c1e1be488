"""The sliders of the active armature's hand as properties: they show how it stands now, and pose it when dragged."""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from bpy.app.handlers import persistent
from bpy.props import BoolProperty, EnumProperty, FloatProperty

from ..errors import KnuckleError
from ..hand.joints import SIDES, Side, digit_words
from ..hand.kinematics import Pose
from ..hand.model import HandModel
from ..posing.sliders import SLIDERS, Slider, Sliders
from ..rig import known_hands
from ..rig.held import HeldHand, Standing, armature_held, reached, read, seen_frames, show, standing
from ..rig.held_bent import only
from ..rig.held_known import held_hand
from ..rig.known_hands import KnownHands
from ..rig.making_up import Pinned, pose_pinned, take_pinned
from ..rig.reaching import as_they_stand
from .posed_hands import chosen_hand, hand_to_pose, posed_armature
from .posing_keys import key_hand
from .posing_keys_before import KeysBefore, give_back, keys_before, keys_now
from .posing_pinned import pins_along, pins_of, pins_on
from .posing_solver import solver_property
from .setting_properties import FIXED

if TYPE_CHECKING:
    from bpy.types import Context, Object

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
    known: KnownHands
    values: dict[Slider, float]


@dataclass(frozen=True, eq=False)
class _Slid:
    """A slider that was moved: where it began, so that to its end and back leaves no trace."""

    slider: Slider
    began: Standing
    pinned: Pinned | None
    """The same with its pins, where it has any."""
    at: float
    """Where the slider was then, in 32 bits as Blender has it."""
    keys: KeysBefore | None
    """What was keyed then; None without auto-keying."""
    left: Hashable = None
    """How the bones and the pins of which hand stood after it, on which frame; with auto-keying, all keys."""


class _Now:
    """Both may be forgotten at any time: they are worked out anew."""

    shown: _Shown | None = None
    slid: _Slid | None = None


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_shown(*_of_handler: Any) -> None:
    """Sliders read the hand anew when they are drawn next. A handler of whatever changes poses."""
    _Now.shown = None


@persistent  # type: ignore[untyped-decorator]  # Blender's own
def forget_slid(*_of_handler: Any) -> None:
    """No slider is being dragged: the same bones in another file are others."""
    _Now.slid = None


def show_anew_if_not(known: KnownHands) -> None:
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
        known = known_hands.known(hand[0]) if hand else None
        if hand is None or known is None:
            return 0.0
        try:
            values = _values(held_hand(*hand, known), asked.dip_lock)
        except KnuckleError:
            values = dict.fromkeys(SLIDERS, 0.0)
        _Now.shown = _Shown(chosen, known, values)
    return _Now.shown.values[slider]


def _values(held: HeldHand, locked: bool) -> dict[Slider, float]:
    sliders, angles = sliders_of(held.hand, locked), read(held).angles[0]
    return {slider: _settled(sliders.read(angles, slider)) for slider in SLIDERS}


def _settled(value: float) -> float:
    """Bones have 32 bits: an end of a slider would be read a little beyond it, and nothing as -0.0."""
    return round(value) + 0.0 if abs(value - round(value)) < ROUNDING else value


@lru_cache(maxsize=8)
def sliders_of(hand: HandModel, locked: bool) -> Sliders:
    """The sliders of a hand."""
    return Sliders(hand, locked)


@lru_cache(maxsize=8)
def _only(held: HeldHand, joints: frozenset[int]) -> HeldHand:
    """What a drag of a slider works out in each of its steps."""
    return only(held, joints)


def slide(context: "Context", slider: Slider, to: float) -> None:
    """Brings the chosen hand to where a slider stands at a value, keyed as auto-keying would.

    Raises RigError where there is no such hand, or it cannot be posed.
    """
    armature, side = hand_to_pose(context)
    known = known_hands.now(armature)
    held = held_hand(armature, side, known)
    sliders, slid = sliders_of(held.hand, context.scene.knuckle_posing.dip_lock), _Now.slid
    if slid is not None and slid.slider == slider and slid.left == _left(context, armature, held):
        # Still the same drag, wherever the arm has gone meanwhile.
        stands = Standing(Pose(held.hand, seen_frames(held)[:1], slid.began.pose.angles), slid.began.beyond)
        # Escape gives back where it began, and Blender tells nothing else of it.
        came_back = to == slid.at
    else:
        stands, came_back = standing(held), False
        at = float(np.float32(_settled(sliders.read(stands.pose.angles[0], slider))))
        keys = keys_before(context, armature)
        slid = _Slid(slider, stands, _pinned(context, held, stands, slider), at, keys)
    pinned = slid.pinned
    angles = sliders.write(stands.pose.angles[0], slider, to)
    joints = frozenset(reached(held, {int(held.hand.axis_joint[dof]) for dof in sliders.moves(slider)}))
    if pinned is None:
        show(_only(held, joints), Standing(Pose(held.hand, stands.pose.root, angles[None]), stands.beyond), joints)
    else:
        joints = pose_pinned(pinned, Pose(pinned.held.hand, stands.pose.root, angles[None]), joints)
        pins_along(held, [pinned.driven] if pinned.driven else [])
    if came_back and slid.keys is not None:
        give_back(armature, slid.keys)
    else:
        key_hand(context, held, joints)
    _Now.slid = replace(slid, began=stands, left=_left(context, armature, held))
    forget_shown()


def _pinned(context: "Context", held: HeldHand, stands: Standing, slider: Slider) -> Pinned | None:
    """A hand with pinned fingertips before a slider is moved; None where nothing is pinned."""
    pins = as_they_stand(held, pins_of(armature_held(held), held.hand.side))
    driven = "thumb" if slider.word == "oppose" else slider.digit
    if not pins:
        return None
    return take_pinned(held, stands, pins, driven, coupled=context.scene.knuckle_posing.dip_lock)


def _left(context: "Context", armature: "Object", held: HeldHand) -> Hashable:
    bones = [armature.pose.bones[str(held.posed.binding.bones[joint])] for joint in held.posed.binding.mapped]
    pins = tuple((pin.digit, pin.kind, pin.other, tuple(pin.place)) for pin in pins_on(armature))
    stood = np.array([bone.matrix_basis for bone in bones]).tobytes()
    keys = keys_now(armature) if context.scene.tool_settings.use_keyframe_insert_auto else None
    return armature.name, held.hand.side, context.scene.frame_current_final, stood, pins, keys


def _slider(slider: Slider) -> Any:
    def get(_group: Any) -> float:
        return value(bpy.context, slider)

    def put(_group: Any, to: float) -> None:
        try:
            slide(bpy.context, slider, to)
        except KnuckleError:
            # A field cannot report: the panel says why there are no sliders.
            forget_shown()

    digit = f"the {digit_words(slider.digit)}" if slider.digit else OF_ALL.get(slider.word, "")
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
