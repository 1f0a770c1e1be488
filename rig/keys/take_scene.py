"""Writing a solved take into a scene: hands are bound or built and keyed, and the action gets the report."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import radians
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.joints import JOINTS, SIDES
from ...hand.mesh.surface import Surface
from ...hand.model import HandModel
from ...hand.proportions import Proportions
from ...pipeline.capture_transform import NO_TRANSFORM
from ...pipeline.corrections.correction_json import from_list
from ...pipeline.recipe import IntoChoice, Recipe
from ...pipeline.take import SolvedHand, Take
from ..armature_hands import find_hands, hands_and_problems
from ..binding import RigBinding, default_binding, is_armature
from ..bound_hand import bound_hand
from ..default_hand import add_hand
from ..limits.limit_constraints import add_limits
from ..rest_frames import rest_world
from .corrections.solved_keys import remember_keys
from .corrections.solved_rest import remember_rest
from .corrections.take_base import composed_of, playing_base
from .corrections.take_clock import store_clock
from .corrections.written_take import composed_actions, correct_written
from .drive import with_driven_parts
from .frame_times import scene_frames, scene_rate
from .hand_motion import KeyedHand
from .keyframes import check_keyable
from .keying_notes import keying_notes, playing_notes, pushed_note
from .layered_keys import key_above
from .parent_motion import is_evaluated
from .played_action import played_action
from .predicted_keys import mark_predicted
from .reduced_take import forget_reduction, reduce_keys
from .reduction.keyed_hand import Tolerance
from .reduction.reduce_hand import Reduction
from .spliced_keys import Blend, played_take, splice_keys
from .take_report import TIMECODE_PROPERTY, TIMING_PROPERTY, play_same_take, report_of, store_report
from .wrist_strain import MOVED_AWAY, NOT_ALIGNED, strain_notes

if TYPE_CHECKING:
    from bpy.types import Action, Collection, Object, Scene

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TakeTiming:
    """When a take starts in a scene."""

    start: float = 1.0
    """The frame on which `origin` falls."""
    origin: float | None = None
    """s, a time of the capture; None is the take's first frame."""


def take_frames(take: Take, scene: "Scene", timing: TakeTiming) -> Floats:
    """Return the scene frames (F,) of a take."""
    origin = float(take.times[0]) if timing.origin is None else timing.origin
    rate = scene_rate(scene)
    frames = scene_frames(take.times, origin, timing.start, rate)
    if take.recipe.fps is not None and abs(take.recipe.fps - rate) < 1e-6 * rate:
        # Shift a take that was resampled to the scene's rate onto whole frames, by half a frame at most.
        frames = np.round(frames - frames[0]) + np.round(frames[0])
    return frames


def new_hand(
    proportions: Proportions, hand: HandModel, collection: "Collection", skin: Surface | None = None
) -> tuple["Object", RigBinding]:
    """Build Knuckle's own hand with these proportions, with limits on its bones; skin: see add_hand."""
    armature = add_hand(proportions, f"{hand.side.capitalize()} Hand", collection, skin)
    binding = default_binding(armature, hand)
    add_limits(armature, binding, hand)
    return armature, binding


def bind_hands(armature: "Object", take: Take) -> list[KeyedHand]:
    """Bind the hands of a take to an armature's hands.

    The armature must have the hand that the recipe requests; if the recipe takes whatever the capture holds, one of the
    hands is enough. Raises RigError if a hand is missing or the armature cannot be keyed.
    """
    check_keyable(armature)
    found = {hand.side: hand for hand in find_hands(armature, [solved.side for solved in take.hands])}
    matched = [solved for solved in take.hands if solved.side in found]
    missing = [solved.side for solved in take.hands if solved.side not in found]
    if not matched or (missing and take.recipe.hand != "auto"):
        raise RigError(
            f"armature '{armature.name}' has no {' and no '.join(missing)} hand, only a {' and a '.join(found)} one: "
            "choose that hand, mirror the take, or choose another armature"
        )
    limited = take.recipe.rig_limits
    bindings = [bound_hand(armature, found[solved.side], solved.hand, limited=limited) for solved in matched]
    keyed = [_keyed(*pair) for pair in zip(matched, bindings, strict=True)]
    return [
        with_driven_parts(armature, found[one.binding.side], one, take.recipe.drive, take.recipe.digits)
        for one in keyed
    ]


def _keyed(solved: SolvedHand, binding: RigBinding) -> KeyedHand:
    return KeyedHand(binding, solved.keyed.hand, solved.keyed, captured=solved.forearm)


def write_take(
    take: Take, armature: "Object | None", scene: "Scene", collection: "Collection", timing: TakeTiming
) -> tuple["Object", ...]:
    """Key a take on an armature, or on Knuckle's own hands, built if needed; return the keyed armatures.

    If it raises RigError, nothing has been written.
    """
    corrections = from_list(take.recipe.corrections, "the recipe")
    keeps_own = take.recipe.into == "this" and take.recipe.corrections is None
    armatures = target_armatures(armature, take.recipe.into, scene)
    if armature is not None:
        timing = timing_of(take, armature, timing)
    frames = take_frames(take, scene, timing)
    notes = () if armature is None else keying_notes(armature, take)
    hands = bound_hands(armatures, take) if armatures else _new_hands(take, scene, collection)
    actions = []
    for target, keyed in hands:
        played = played_action(target)
        actions.append(_key(target, keyed, frames, take, scene))
        if take.recipe.align != "off" and not any(one.wrist for one in keyed):
            unused = (
                "the capture was aligned, which has no effect while only the fingers are driven: drive Wrist or Arm"
            )
            notes = (*notes, unused)
        remedy = NOT_ALIGNED if take.recipe.transform == NO_TRANSFORM else MOVED_AWAY
        strained = [note for one in keyed for note in strain_notes(one.binding.side, one.strains, remedy)]
        notes = (*notes, *strained, *pushed_note(target, played), *playing_notes(target))
    predicted: dict[str, Bools] = {solved.side: solved.predicted for solved in take.hands}
    for action, (target, keyed) in zip(actions, hands, strict=True):
        mark_predicted(action, keyed, frames, predicted)
        remember_keys(action, None if take.recipe.into == "new" else (frames[0], frames[-1]))
        if take.recipe.into == "new":
            store_clock(action, frames, take.times, scene)
            remember_rest(action, target)
    targets = [target for target, _ in hands]
    report_rows, more = correct_written(targets, None if keeps_own else corrections, scene, take)
    actions, notes = actions + composed_actions(targets), (*notes, *more)
    if take.recipe.reduce:
        for target in targets:
            notes = (*notes, *_reduced(target, take.recipe))
            actions.append(target.animation_data.action)
    report = take.report | {"warnings": [*take.report.get("warnings", ()), *notes], "corrections": report_rows}
    for action in actions:
        store_report(action, report, take, frames)
        if take.recipe.into == "new":
            action[TIMING_PROPERTY] = [timing.start, float(take.times[0]) if timing.origin is None else timing.origin]
            if take.markers.timecode and take.recipe.start in (None, 1):
                action[TIMECODE_PROPERTY] = take.markers.timecode
    return tuple(targets)


def _key(target: "Object", hands: list[KeyedHand], frames: Floats, take: Take, scene: "Scene") -> "Action":
    """Key the hands of an armature in a new take, or in the one that it plays.

    If it raises RigError, nothing has changed.
    """
    recipe = take.recipe
    if recipe.into == "this":
        with playing_base(target) if composed_of(target) is not None else nullcontext():
            action = splice_keys(target, hands, frames, Blend(recipe.blend_in, recipe.blend_out))
        forget_reduction(action)
        return action
    return key_above(target, hands, frames, take_name(take), scene)


def _reduced(target: "Object", recipe: Recipe) -> tuple[str, ...]:
    """Reduce the keys of the take that an armature plays, and return the figures."""
    tolerance = Tolerance(recipe.reduce_distance, radians(recipe.reduce_angle))
    try:
        figures, notes = reduce_keys(target, Reduction(tolerance, recipe.reduce_shared))
    except RigError as error:
        return (f"the keys were not reduced: {error}",)
    return (f"armature '{target.name}': {figures.sentence()}", *notes)


def target_armatures(armature: "Object | None", into: IntoChoice, scene: "Scene") -> "tuple[Object, ...]":
    """Return the armatures on which a take is keyed: one, or all that play the take to be changed; none for new hands.

    Raises RigError if a take should be changed and there is none that can be.
    """
    if into == "new":
        return (armature,) if armature else ()
    if armature is None:
        raise RigError("a new hand has no take yet: choose the armature that plays it, or solve into a new take")
    armatures = armatures_of_take(armature, scene)
    for target in armatures:
        played_take(target)
    return armatures


def armatures_of_take(armature: "Object", scene: "Scene") -> "tuple[Object, ...]":
    """Return an armature and those that play the same take with the other hand, since each new hand is an armature."""
    found, sides = [armature], set(hands_and_problems(armature)[0])
    for other in scene.objects:
        # A copy of the armature has the same hands and keeps its keys.
        if other != armature and is_armature(other) and play_same_take(armature, other):
            own = set(hands_and_problems(other)[0])
            if own and not own & sides:
                found.append(other)
                sides |= own
    return tuple(found)


def bound_hands(armatures: "tuple[Object, ...]", take: Take) -> "list[tuple[Object, list[KeyedHand]]]":
    """Return the armatures with the hands to key on each. Raises RigError."""
    if len(armatures) == 1:
        return [(armatures[0], bind_hands(armatures[0], take))]
    bound = []
    for target in armatures:
        own = tuple(solved for solved in take.hands if solved.side in hands_and_problems(target)[0])
        if own:
            bound.append((target, bind_hands(target, replace(take, hands=own))))
    return bound


def own_hands(armatures: "Sequence[Object]", take: Take) -> "list[tuple[Object, list[KeyedHand]]]":
    """Return the armatures and hands that were built for the take, or for another solve of it. Raises RigError."""
    bound = []
    for target in armatures:
        check_keyable(target)
        missing = [joint for joint in JOINTS if joint not in target.data.bones]
        if missing:
            raise RigError(f"armature '{target.name}' has no bone '{missing[0]}' any more: solve the capture again")
        for solved in take.hands:
            if solved.side in hands_and_problems(target)[0]:
                keyed = _keyed(solved, default_binding(target, solved.hand))
                bound.append((target, [with_driven_parts(target, None, keyed, take.recipe.drive, take.recipe.digits)]))
    return bound


def timing_of(take: Take, armature: "Object", timing: TakeTiming) -> TakeTiming:
    """Return the timing of a take; if it goes into the take that an armature plays, that take's timing."""
    if take.recipe.into == "new":
        return timing
    stored = played_take(armature).get(TIMING_PROPERTY)
    if timing.origin is not None or stored is None:
        return timing
    return TakeTiming(float(stored[0]), float(stored[1]))


def _new_hands(take: Take, scene: "Scene", collection: "Collection") -> "list[tuple[Object, list[KeyedHand]]]":
    """Return Knuckle's own hands, left before right, built unless there are those of an earlier take."""
    ordered = sorted(take.hands, key=lambda solved: SIDES.index(solved.side))
    # Check all hands before building any, because one that cannot be keyed is an error.
    existing = [_existing_hand(take, solved, scene) for solved in ordered]
    hands = []
    for solved, pair in zip(ordered, existing, strict=True):
        target, binding = pair or new_hand(solved.proportions, solved.hand, collection)
        keyed = with_driven_parts(target, None, _keyed(solved, binding), take.recipe.drive, take.recipe.digits)
        hands.append((target, [keyed]))
    return hands


def _existing_hand(take: Take, solved: SolvedHand, scene: "Scene") -> "tuple[Object, RigBinding] | None":
    """Return the hand built for an earlier take of the same capture, if its proportions fit and it was not moved.

    Solving again then adds an action to that hand, rather than a second hand in the same place.
    """
    rest = rest_world(solved.hand)
    for armature in scene.objects:
        report = report_of(armature) if is_armature(armature) else None
        if report is None or report.get("capture") != take.recipe.capture:
            continue
        bones = [armature.data.bones.get(joint) for joint in JOINTS]
        if not all(bones) or not np.allclose(np.array(armature.matrix_world), np.eye(4), atol=1e-6):
            continue
        # Leave hands alone that the user excluded or that are linked from another file.
        if not is_evaluated(armature) or not armature.is_editable:
            continue
        if np.allclose([np.array(bone.matrix_local) for bone in bones if bone], rest, atol=1e-5):
            check_keyable(armature)
            return armature, default_binding(armature, solved.hand)
    return None


def take_name(take: Take) -> str:
    """Return the name of a take's action: the name of its capture."""
    return Path(take.recipe.capture).stem or "Take"
