"""Pose armatures with the hands of a device's performers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import KnuckleError
from ..hand.forearm import WristForearm
from ..hand.kinematics import Pose
from ..hand.marker_sets import subject_of
from ..pipeline.live.displayed_hand import DisplayedHand, FollowedHand
from ..pipeline.recipe import Recipe
from ..rig.armature_hands import find_hands
from ..rig.binding import is_armature
from ..rig.data_reference import DataReference
from ..rig.keys.take_scene import new_hand
from ..rig.keys.wrist_strain import strain_notes
from ..rig.posing import apply_pose
from ..rig.posing.rig_hand import RigHand

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

HAND_PROPERTY = "knuckle_live_hand"
"""Custom property of an armature that was built for a live hand: the hand's name."""


class LiveRigs:
    """The armatures that the performers' hands drive. Holds references, not Blender's objects, to survive undo."""

    def __init__(
        self,
        scene: DataReference,
        first_armature: DataReference | None,
        armatures: Mapping[str, DataReference],
        *,
        recipe: Recipe,
    ) -> None:
        """Start without hands.

        first_armature: of the performer seen first; None to build new hands. armatures: performer -> armature.
        """
        self.problems: dict[str, str] = {}
        """Hand -> why it is not posed, in a sentence."""
        self.performers: list[str] = []
        """Names of performers, in order of appearance; '' if the device names none."""
        self.added_hands = False
        """Whether hands were added to the scene since this was last set to False."""
        self._scene, self._recipe = scene, recipe
        self._first_armature, self._armatures = first_armature, dict(armatures)
        self._bound: dict[str, RigHand | None] = {}
        """Hand -> the rig's hand that it drives; None if it could not be bound."""
        self._last_poses: dict[str, tuple[Pose, WristForearm | None]] = {}
        """Hand -> what its bones were posed with last."""
        self._in_edit_mode: set[str] = set()
        """Hands whose armature was in Edit Mode since they were bound."""

    def add_performers(self, hands: Iterable[str]) -> None:
        """Add the performers of hands, in order of appearance."""
        self.performers = list(dict.fromkeys([*self.performers, *map(subject_of, hands)]))

    def armature_of(self, performer: str) -> DataReference | None:
        """Return the armature that a performer's hands drive; None for new hands."""
        return self._armatures.get(performer) or (self._first_armature if self.performers[:1] == [performer] else None)

    def assign_armatures(self, armatures: Mapping[str, DataReference]) -> None:
        """Assign armatures to performers, and restore the pose of armatures that are no longer driven."""
        performers = {*armatures, *self._armatures}
        changed = {name for name in performers if armatures.get(name) != self._armatures.get(name)}
        self._armatures = dict(armatures)
        for hand in [hand for hand in self._bound if subject_of(hand) in changed]:
            rig_hand = self._bound.pop(hand)
            self._last_poses.pop(hand, None)
            self.problems.pop(hand, None)
            if rig_hand is not None:
                rig_hand.restore_pose()

    def pose(
        self,
        displayed_hands: Sequence[DisplayedHand],
        hands: Mapping[str, FollowedHand],
        device_transforms: Mapping[str, Floats],
    ) -> bool:
        """Pose the hands that have changed. Return whether there were any.

        device_transforms: performer -> (4, 4) T_scene_device, if it is not the identity.
        """
        changed = []
        for displayed in displayed_hands:
            pose, forearm = self._last_poses.get(displayed.name, (None, None))
            if displayed.pose is pose and displayed.forearm is forearm:
                continue
            rig_hand = self._bound_hand(displayed, hands[displayed.name])
            self._last_poses[displayed.name] = displayed.pose, displayed.forearm
            if rig_hand is not None:
                device_transform = device_transforms.get(subject_of(displayed.name))
                changed.append(_pose_in_scene(rig_hand, displayed, device_transform))
        return bool(changed) and apply_pose.pose_hands(changed)

    def invalidate(self) -> None:
        """Pose all hands again at the next call of `pose`, since something else may have moved the bones."""
        self._last_poses.clear()

    def restore_pose(self) -> None:
        """Restore the pose that all bones had before they were driven."""
        for rig_hand in self.rig_hands().values():
            rig_hand.restore_pose()

    def rig_hands(self) -> dict[str, RigHand]:
        """Return hand -> the rig's hand that it drives."""
        return {name: rig_hand for name, rig_hand in self._bound.items() if rig_hand is not None}

    def strain_warnings(self) -> list[str]:
        """Return a warning for each hand whose wrist or arm is now posed beyond a person's range."""
        movers = [rig_hand.mover for rig_hand in self.rig_hands().values() if rig_hand.mover is not None]
        remedy = "press Recenter, or drive the fingers only"
        return [
            note
            for mover in movers
            if mover.strain is not None
            for note in strain_notes(mover.keyed.binding.side, [mover.strain], remedy)
        ]

    def rest_transform(self, hand: str) -> Floats | None:
        """Return T_world_wrist (4, 4) at rest of the rig's hand that `hand` drives; None if it drives none."""
        rig_hand = self._bound.get(hand)
        armature = rig_hand.find_armature() if rig_hand else None
        if armature is None or rig_hand is None:
            return None
        transform: Floats = np.array(armature.matrix_world) @ rig_hand.binding.rest[0]
        return transform

    def _bound_hand(self, displayed: DisplayedHand, followed: FollowedHand) -> RigHand | None:
        """Return the rig's hand that a hand drives, bound again if needed; None if it cannot be posed now."""
        rig_hand = self._bound.get(displayed.name)
        if rig_hand is None:
            return None if displayed.name in self._bound else self._try_bind(displayed, followed, None)
        availability = apply_pose.availability(rig_hand)
        if availability == "gone":
            problem = f"the armature '{rig_hand.armature.name}' or bones of its hand are gone, stop and start again"
            self.problems[displayed.name] = problem
            return None
        if availability == "in Edit Mode":
            self._in_edit_mode.add(displayed.name)
            return None
        # Edit Mode may have changed the rest pose.
        if rig_hand.hand is not displayed.pose.hand or displayed.name in self._in_edit_mode:
            return self._try_bind(displayed, followed, rig_hand)
        self.problems.pop(displayed.name, None)
        return rig_hand

    def _try_bind(self, displayed: DisplayedHand, followed: FollowedHand, previous: RigHand | None) -> RigHand | None:
        """Bind a hand as `_bind` does; None and a problem if that fails."""
        self._in_edit_mode.discard(displayed.name)
        self.problems.pop(displayed.name, None)
        # Binding may change the scene's frame, and frame_change_post poses all hands: None excludes this one.
        self._bound[displayed.name] = None
        try:
            self._bound[displayed.name] = self._bind(displayed, followed, previous)
        except KnuckleError as error:
            self.problems[displayed.name] = str(error)
        return self._bound[displayed.name]

    def _bind(self, displayed: DisplayedHand, followed: FollowedHand, previous: RigHand | None) -> RigHand | None:
        """Bind a hand to the rig's hand that it drives; None if there is none. previous: the one bound until now."""
        chosen = self.armature_of(subject_of(displayed.name))
        if chosen is None and previous is not None and previous.hand is displayed.pose.hand:
            # The user has edited the bones of a new hand: from now on it is treated like any other armature.
            chosen = previous.armature
        armature: Object | None = chosen.find_in(bpy.data.objects) if chosen else None
        if chosen and armature is None:
            self.problems[displayed.name] = f"the armature '{chosen.name}' is gone, choose another"
            return None
        if armature is None:
            return self._build_hand(displayed, followed, previous)
        found = next((found for found in find_hands(armature, [displayed.side]) if found.side == displayed.side), None)
        if found is None:
            self.problems[displayed.name] = (
                f"armature '{armature.name}' has no {displayed.side} hand, so the performer's is not displayed"
            )
            return None
        rig_hand = apply_pose.make_driven_hand(
            armature,
            found,
            displayed.pose.hand,
            limited=self._recipe.rig_limits,
            drive=self._recipe.drive,
            digits=self._recipe.digits,
        )
        if previous is None:
            return rig_hand
        return replace(rig_hand, initial_basis=rig_hand.initial_basis | previous.initial_basis)

    def _build_hand(self, displayed: DisplayedHand, followed: FollowedHand, previous: RigHand | None) -> RigHand:
        """Build a hand with the performer's proportions, replacing the one built for earlier measurements."""
        scene = self._scene.find_in(bpy.data.scenes)
        old_hands: list[Object | None] = [
            obj for obj in scene.objects if is_armature(obj) and obj.get(HAND_PROPERTY) == displayed.name
        ]
        if previous is not None:
            old_hands = [previous.armature.find_in(bpy.data.objects)]
        for obj in old_hands:
            if obj is not None and _is_unmodified(obj):
                _remove(obj)
        hand_obj, _ = new_hand(followed.measured.proportions, followed.hand, scene.collection, followed.skin)
        hand_obj[HAND_PROPERTY] = displayed.name
        self.added_hands = True
        return apply_pose.make_driven_hand(
            hand_obj, None, displayed.pose.hand, drive=self._recipe.drive, digits=self._recipe.digits
        )


def _pose_in_scene(
    rig_hand: RigHand, displayed: DisplayedHand, device_transform: Floats | None
) -> apply_pose.RigHandPose:
    """Return a rig's hand and the pose of the displayed hand in the scene."""
    pose = (
        displayed.pose
        if device_transform is None
        else replace(displayed.pose, root=device_transform @ displayed.pose.root)
    )
    return apply_pose.RigHandPose(rig_hand, pose, displayed.forearm.on(pose.root) if displayed.forearm else None)


def _is_unmodified(obj: "Object") -> bool:
    """Return whether a hand is as it was built: no animation, transform, users or children besides its skin."""
    transformed = not np.allclose(np.array(obj.matrix_world), np.eye(4)) or obj.parent or obj.constraints
    return not (transformed or obj.users > len(obj.users_collection) or obj.animation_data or len(obj.children) > 1)


def _remove(hand: "Object") -> None:
    """Delete a hand that was built here, and its skin."""
    for child in hand.children:
        if isinstance(child.data, bpy.types.Mesh) and child.name.startswith(f"{hand.name} Skin"):
            bpy.data.meshes.remove(child.data)
    if isinstance(hand.data, bpy.types.Armature):
        bpy.data.armatures.remove(hand.data)
