"""A solved take written into a scene: hands bound or built, keyed, and told of in the take's action."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.joints import JOINT_INDEX, JOINTS, SIDES
from ...hand.mesh.surface import Surface
from ...hand.model import HandModel
from ...hand.proportions import Proportions
from ...pipeline.job import SolvedHand, Take
from ..armature_hands import FoundHand, find_hands
from ..binding import RigBinding, default_binding, is_armature
from ..bound_hand import bound_hand
from ..default_hand import add_hand
from ..limits.limit_constraints import add_limits
from ..rest_frames import rest_world
from .arm_keys import find_arm
from .frame_times import scene_frames, scene_rate
from .keyframes import KeyedHand, check_keyable, key_hands
from .keying_notes import keying_notes, playing_notes
from .parent_motion import is_evaluated
from .take_report import RESULT, TIMECODE, result_of

if TYPE_CHECKING:
    from bpy.types import Collection, Object, Scene

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TakeTiming:
    """Where in a scene's time a take goes."""

    start: float = 1.0
    """The frame on which `origin` falls."""
    origin: float | None = None
    """s, a moment of the capture; None is the take's first frame."""


def take_frames(take: Take, scene: "Scene", placing: TakeTiming) -> Floats:
    """(F,) the scene frames of a take."""
    origin = float(take.times[0]) if placing.origin is None else placing.origin
    rate = scene_rate(scene)
    frames = scene_frames(take.times, origin, placing.start, rate)
    if take.recipe.fps is not None and abs(take.recipe.fps - rate) < 1e-6 * rate:
        # Asked for on the scene's frames, a take of a part of a capture is moved onto them, by half a frame at most.
        frames = np.round(frames - frames[0]) + np.round(frames[0])
    return frames


def new_hand(
    proportions: Proportions, hand: HandModel, collection: "Collection", skin: Surface | None = None
) -> tuple["Object", RigBinding]:
    """Knuckle's own hand with these measures, its limits on its bones; skin as for add_hand."""
    armature = add_hand(proportions, f"{hand.side.capitalize()} Hand", collection, skin)
    binding = default_binding(armature, hand)
    add_limits(armature, binding, hand)
    return armature, binding


def bind_hands(armature: "Object", take: Take) -> list[KeyedHand]:
    """The hands of a take on the hands that an armature has.

    Where the recipe asks for certain hands, the armature must have them; where it takes what the capture holds,
    one of them is enough. Raises RigError.
    """
    check_keyable(armature)
    found = {hand.side: hand for hand in find_hands(armature, [solved.side for solved in take.hands])}
    wanted = [solved for solved in take.hands if solved.side in found]
    lacking = [solved.side for solved in take.hands if solved.side not in found]
    if not wanted or (lacking and take.recipe.hand != "auto"):
        raise RigError(
            f"armature '{armature.name}' has no {' and no '.join(lacking)} hand, only a {' and a '.join(found)} one: "
            "choose that hand, mirror the take, or choose another armature"
        )
    limited = take.recipe.rig_limits
    bound = [bound_hand(armature, found[solved.side], solved.hand, limited=limited) for solved in wanted]
    keyed = [_keyed(*of_one) for of_one in zip(wanted, bound, strict=True)]
    return [with_arm(armature, found[one.binding.side], one) for one in keyed] if take.recipe.arm else keyed


def _keyed(solved: SolvedHand, binding: RigBinding) -> KeyedHand:
    pose = solved.pose if solved.driven is None else solved.driven.pose
    return KeyedHand(binding, pose.hand, pose)


def with_arm(armature: "Object", found: FoundHand, keyed: KeyedHand) -> KeyedHand:
    """A hand that is brought to where the capture has it. Raises RigError if there is no arm."""
    arm = find_arm(armature, found)
    if arm is not None:
        return replace(keyed, arm=arm)
    placed = keyed.binding.placed.copy()
    placed[JOINT_INDEX["wrist"]] = True
    return replace(keyed, binding=replace(keyed.binding, placed=placed))


def write_take(
    take: Take, armature: "Object | None", scene: "Scene", collection: "Collection", placing: TakeTiming
) -> tuple["Object", ...]:
    """Keys a take on an armature, or on hands fitted to the performer, built if there are none; returns them.

    Nothing is written if it raises RigError.
    """
    frames = take_frames(take, scene, placing)
    hands: list[tuple[Object, list[KeyedHand]]] = []
    if armature is not None:
        hands.append((armature, bind_hands(armature, take)))
        notes = keying_notes(armature, take)
    else:
        in_order = sorted(take.hands, key=lambda solved: SIDES.index(solved.side))
        # Asked of all before any is built: one that cannot be keyed is an error.
        standing = [_standing_hand(take, solved, scene) for solved in in_order]
        notes = tuple(note for stands in standing if stands for note in playing_notes(stands[0]))
        for solved, stands in zip(in_order, standing, strict=True):
            target, binding = stands or new_hand(solved.proportions, solved.hand, collection)
            hands.append((target, [_keyed(solved, binding)]))
    report = take.report | {"warnings": [*take.report.get("warnings", ()), *notes]}
    for target, keyed in hands:
        action = key_hands(target, keyed, frames, take_name(take))
        action[RESULT] = json.dumps(report)
        if take.markers.timecode and take.recipe.start in (None, 1):
            action[TIMECODE] = take.markers.timecode
    return tuple(target for target, _ in hands)


def _standing_hand(take: Take, solved: SolvedHand, scene: "Scene") -> "tuple[Object, RigBinding] | None":
    """The hand that a take of the same capture was given before, if it still has these measures and was not moved.

    Solving once more gives that hand another action, and not the scene another hand in the same place.
    """
    rest = rest_world(solved.hand)
    for armature in scene.objects:
        report = result_of(armature) if is_armature(armature) else None
        if report is None or report.get("capture") != take.recipe.capture:
            continue
        bones = [armature.data.bones.get(joint) for joint in JOINTS]
        if not all(bones) or not np.allclose(np.array(armature.matrix_world), np.eye(4), atol=1e-6):
            continue
        # A take that the person has put aside, or that is another file's, stays as it is.
        if not is_evaluated(armature) or not armature.is_editable:
            continue
        if np.allclose([np.array(bone.matrix_local) for bone in bones if bone], rest, atol=1e-5):
            check_keyable(armature)
            return armature, default_binding(armature, solved.hand)
    return None


def take_name(take: Take) -> str:
    """What the action of a take is called: its capture's name."""
    return Path(take.recipe.capture).stem or "Take"
