"""Reduce Keys: an armature plays a copy of its action in which its hands have fewer keys; the dense action stays."""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from math import degrees
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand.generators import Steps, part_of, run_to_end
from ..armature_hands import find_hands
from ..data_reference import DataReference
from .fcurves import FRAME_TOLERANCE, curves_of, curves_on, key_enum, key_values
from .hand_curves import HandCurves, key_types, read_hand_curves
from .keyframes import check_changeable
from .played_action import play, played_action
from .reduction.reduce_hand import ReducedHand, Reduction, reduce_hand
from .reduction.spline import Spline

if TYPE_CHECKING:
    from bpy.types import Action, FCurve, Object

Floats = NDArray[np.float64]

DENSE_PROPERTY = "knuckle_dense"
"""Custom property of a reduced action: the action from which it was made."""
KEYS_PROPERTY = "knuckle_keys"
"""Custom property of a reduced action: a KeyFigures, as JSON."""
KEYS_ID_PROPERTY = "knuckle_keys_id"
"""Custom property of a reduced action: a short text that identifies its keys when it was reduced."""
SUFFIX = " Reduced"
MAX_FIGURE = 1e12
"""Maximum value of a figure; a larger one means a damaged property."""
STATIC_TOLERANCE = 1e-6
"""Changes of a channel's value, and of its slope per frame, below which it is static."""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """Figures of a reduction of keys."""

    before: int
    """Keys of all curves of the hands."""
    after: int
    distance_mm: float
    """Maximum for a fingertip on any frame."""
    angle_deg: float
    """Maximum for a joint on any frame."""

    @property
    def share(self) -> float:
        """Return how many of the keys remain, 0 to 1."""
        return self.after / max(self.before, 1)

    def sentence(self) -> str:
        """Describe the figures in a sentence."""
        return (
            f"{self.after} of {self.before} keys remain ({self.share:.1%}), "
            f"fingertips within {self.distance_mm:.2f} mm and joints within {self.angle_deg:.2f} degrees"
        )


def reduce_keys(armature: "Object", reduction: Reduction) -> tuple[KeyFigures, tuple[str, ...]]:
    """Let an armature play a copy of its action in which its hands have fewer keys.

    Return the figures, and notes on bones that were not reduced. Raises RigError; then nothing has changed.
    """
    reduced = run_to_end(reduced_stepwise(armature, reduction))
    return reduced.figures, reduced.write()


@dataclass(frozen=True, slots=True, eq=False)
class ReducedAction:
    """An action and the reduced keys of its hands, not written yet."""

    armature: DataReference
    played: DataReference
    """The action that the armature plays: the dense one, or an earlier reduction of it."""
    dense: DataReference
    hands: tuple[tuple[HandCurves, ReducedHand], ...]
    notes: tuple[str, ...]

    @property
    def figures(self) -> KeyFigures:
        """Return the figures of the reduction."""
        before = after = 0
        for curves, reduced in self.hands:
            for row, bone in enumerate(curves.hand.bones):
                width = bone.channels().shape[1]
                before += width * curves.hand.key_counts[row]
                spline = reduced.splines.get(row)
                if spline is None:
                    after += width * curves.hand.key_counts[row]
                else:
                    after += sum(part.values.size for _, part in _by_property(curves, row, spline))
        distance = max(reduced.distance for _, reduced in self.hands)
        angle = max(reduced.angle for _, reduced in self.hands)
        return KeyFigures(before, after, 1000 * distance, degrees(angle))

    def check(self) -> "tuple[Object, Action]":
        """Return the armature and the dense action. Raises RigError if the armature plays another action by now."""
        armature, dense = self.armature.find_in(bpy.data.objects), self.dense.find_in(bpy.data.actions)
        played = self.played.find_in(bpy.data.actions)
        if armature is None or dense is None or played is None or played_action(armature) != played:
            raise RigError(f"armature '{self.armature.name}' plays another action meanwhile: nothing was changed")
        return armature, dense

    def write(self) -> tuple[str, ...]:
        """Let the armature play a copy with these keys. Return the notes. Raises RigError as check does."""
        armature, dense = self.check()
        slot, notes = armature.animation_data.action_slot, self.notes
        if was_edited(armature):
            notes = (
                *notes,
                f"the edited keys stay in '{self.played.name}', because these are made from '{dense.name}'",
            )
        action = dense.copy()
        action.name = dense.name + SUFFIX
        # Keep the dense action even if no armature plays it.
        dense.use_fake_user = True
        action.use_fake_user = False
        action[DENSE_PROPERTY] = dense
        action[KEYS_PROPERTY] = json.dumps(asdict(self.figures))
        own = next(one for one in action.slots if one.identifier == slot.identifier)
        curves = {(curve.data_path, curve.array_index): curve for curve in curves_of(action, own)}
        for hand_curves, reduced in self.hands:
            for row, spline in reduced.splines.items():
                for path, part in _by_property(hand_curves, row, spline):
                    for column in range(part.values.shape[1]):
                        _write_curve(curves[path, column], part, column)
        play(armature, action, own)
        action[KEYS_ID_PROPERTY] = _keys_id(armature)
        return notes


def reduced_stepwise(armature: "Object", reduction: Reduction) -> "Steps[ReducedAction]":
    """Compute reduced keys for the action that an armature plays, piece by piece, without changing anything.

    Raises RigError.

    If the action was reduced before, its dense action is reduced again.
    """
    action, slot = check_reducible(armature)
    hands, notes = list[tuple[HandCurves, ReducedHand]](), list[str]()
    found = find_hands(armature)
    for number, hand in enumerate(found):
        others = [other for other in found if other is not hand]
        curves, of_hand = read_hand_curves(armature, hand, action, slot, others)
        notes += of_hand
        if curves is not None:
            work = reduce_hand(curves.hand, reduction)
            reduced = yield from part_of(number / len(found), (number + 1) / len(found), "Reducing keys", work)
            hands.append((curves, reduced))
    if not any(reduced.splines for _, reduced in hands):
        raise RigError(_nothing(action, notes, bool(hands)))
    played, dense = DataReference.of(armature.animation_data.action), DataReference.of(action)
    return ReducedAction(DataReference.of(armature), played, dense, tuple(hands), tuple(notes))


def check_reducible(armature: "Object") -> "tuple[Action, Any]":
    """Return the action whose keys can be reduced, and its slot. Raises RigError."""
    check_changeable(armature)
    action = played_action(armature)
    if action is None or armature.animation_data.action_slot is None:
        raise RigError(f"armature '{armature.name}' plays no action, expected one with keys of its hands")
    dense, slot = _dense_and_slot(armature)
    source = action if dense is None else dense
    if not source.is_editable:
        raise RigError(
            f"the action '{source.name}' of armature '{armature.name}' is linked: make it local to reduce its keys"
        )
    return source, armature.animation_data.action_slot if dense is None else slot


def dense_action(armature: "Object | None") -> "Action | None":
    """Return the dense action from which an armature's action was reduced; None if there is none."""
    return dense_of(None if armature is None else played_action(armature))


def dense_of(action: "Action | None") -> "Action | None":
    """Return the dense action from which an action was reduced; None if it was not, or the dense one is gone."""
    dense = None if action is None else action.get(DENSE_PROPERTY)
    return dense if isinstance(dense, bpy.types.Action) else None


def _dense_and_slot(armature: "Object") -> "tuple[Action | None, Any]":
    """Return the dense action and the armature's slot in it; None if one of them is gone."""
    dense, slot = dense_action(armature), armature.animation_data.action_slot
    own = next((one for one in dense.slots if one.identifier == slot.identifier), None) if dense and slot else None
    return (None if own is None else dense), own


def restore_dense(armature: "Object") -> None:
    """Let an armature play its dense action again; the reduced one is kept. Raises RigError."""
    check_changeable(armature)
    dense, own = _dense_and_slot(armature)
    if dense is None:
        raise RigError(f"armature '{armature.name}' no longer has a dense action, expected the one that was reduced")
    play(armature, dense, own)


def forget_reduction(action: "Action") -> None:
    """Make an action its own dense action: it has keys that its dense action lacks."""
    for name in (DENSE_PROPERTY, KEYS_PROPERTY, KEYS_ID_PROPERTY):
        action.pop(name, None)


def was_edited(armature: "Object") -> bool:
    """Return whether keys of a reduced action were moved, added or deleted since the reduction."""
    known = armature.animation_data.action.get(KEYS_ID_PROPERTY)
    return known is not None and known != _keys_id(armature)


def _keys_id(armature: "Object") -> str:
    """Return a short text that identifies the frames and values of an armature's keys."""
    keys = b"".join(key_values(curve, "co").tobytes() for curve in curves_on(armature))
    return f"{zlib.crc32(keys):08x}"


def key_figures(armature: "Object | None") -> KeyFigures | None:
    """Return the figures of the reduced action that an armature plays; None if it was not reduced, or is damaged."""
    action = None if armature is None else played_action(armature)
    text = None if action is None else action.get(KEYS_PROPERTY)
    try:
        found = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    names = {field.name for field in fields(KeyFigures)}
    is_whole = isinstance(found, dict) and set(found) == names
    if not is_whole or not all(isinstance(value, int | float) and abs(value) < MAX_FIGURE for value in found.values()):
        return None
    return KeyFigures(int(found["before"]), int(found["after"]), float(found["distance_mm"]), float(found["angle_deg"]))


def _nothing(action: "Action", notes: Sequence[str], was_tried: bool) -> str:
    if was_tried:
        return f"the action '{action.name}' needs all its keys to stay within this distance and angle"
    reason = f" ({notes[0]})" if notes else ""
    return f"the action '{action.name}' has no keys of a hand that can be reduced{reason}"


def _by_property(curves: HandCurves, row: int, spline: Spline) -> "Iterator[tuple[str, Spline]]":
    """Yield data paths of a bone and their part of its spline; channels that do not change have a single key."""
    start = 0
    for path in curves.paths[row]:
        stop = start + (4 if path.endswith(("quaternion", "axis_angle")) else 3)
        part = Spline(spline.frames, spline.values[:, start:stop], spline.slopes[:, start:stop])
        still = np.ptp(part.values, axis=0).max() < STATIC_TOLERANCE and np.abs(part.slopes).max() < STATIC_TOLERANCE
        yield path, Spline(part.frames[:1], part.values[:1], part.slopes[:1]) if still else part
        start = stop


def _write_curve(curve: "FCurve", spline: Spline, column: int) -> None:
    """Replace a curve's keys by those of a channel of a spline: Bézier keys whose handles are in line."""
    frames, values = spline.frames, spline.values[:, column]
    keyed, kinds = key_types(curve)
    nearest = np.clip(np.searchsorted(keyed, frames - FRAME_TOLERANCE), 0, len(keyed) - 1)
    types = np.where(np.abs(keyed[nearest] - frames) < FRAME_TOLERANCE, kinds[nearest], key_enum("type", "KEYFRAME"))
    reach = np.diff(frames) / 3 if len(frames) > 1 else np.empty(0)
    points = curve.keyframe_points
    points.clear()
    points.add(len(frames))
    handles = {"handle_left": -np.append(reach[:1], reach), "handle_right": np.append(reach, reach[-1:])}
    points.foreach_set("co", _pairs(frames, values))
    for setting, kind in (
        ("interpolation", "BEZIER"),
        ("handle_left_type", "ALIGNED"),
        ("handle_right_type", "ALIGNED"),
    ):
        points.foreach_set(setting, np.full(len(frames), key_enum(setting, kind), np.int32))
    points.foreach_set("type", types.astype(np.int32))
    for setting, before in handles.items():
        ends = before if len(frames) > 1 else np.array([-1.0 if setting == "handle_left" else 1.0])
        points.foreach_set(setting, _pairs(frames + ends, values + spline.slopes[:, column] * ends))
    curve.update()


def _pairs(frames: Floats, values: Floats) -> NDArray[np.float32]:
    return np.stack([frames, values], axis=-1).ravel().astype(np.float32)
