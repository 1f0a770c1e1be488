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
        self, scene: DataReference, first: DataReference | None, people: Mapping[str, DataReference], *, recipe: Recipe
    ) -> None:
        """first: armature of the performer seen first, None for new hands; people: performer -> armature."""
        self.problems: dict[str, str] = {}
        """Hand -> a sentence why it is not posed."""
        self.performers: list[str] = []
        """Names of performers, in order of appearance; '' if the device names none."""
        self.made = False
        """Whether hands were added to the scene since this was last set to False."""
        self._scene, self._first, self._people, self._recipe = scene, first, dict(people), recipe
        self._posed: dict[str, RigHand | None] = {}
        self._shown: dict[str, tuple[Pose, WristForearm | None]] = {}
        self._edited: set[str] = set()

    def add_performers(self, hands: Iterable[str]) -> None:
        """Add the performers of hands, in order of appearance."""
        self.performers = list(dict.fromkeys([*self.performers, *map(subject_of, hands)]))

    def armature_of(self, performer: str) -> DataReference | None:
        """Return the armature that a performer's hands drive; None for new hands."""
        return self._people.get(performer) or (self._first if self.performers[:1] == [performer] else None)

    def drive(self, people: Mapping[str, DataReference]) -> None:
        """Assign armatures to performers. Armatures that are no longer driven get their earlier pose back."""
        changed = {name for name in {*people, *self._people} if people.get(name) != self._people.get(name)}
        self._people = dict(people)
        for hand in [hand for hand in self._posed if subject_of(hand) in changed]:
            posed = self._posed.pop(hand)
            self._shown.pop(hand, None)
            self.problems.pop(hand, None)
            if posed is not None:
                posed.put_back()

    def pose(
        self,
        displayed_hands: Sequence[DisplayedHand],
        hands: Mapping[str, FollowedHand],
        device_transforms: Mapping[str, Floats],
    ) -> bool:
        """Pose the hands that have changed. Returns whether there were any.

        device_transforms: performer -> (4, 4) T_scene_device, if it is not the identity.
        """
        changed = []
        for displayed in displayed_hands:
            pose, forearm = self._shown.get(displayed.name, (None, None))
            if displayed.pose is pose and displayed.forearm is forearm:
                continue
            posed = self._rig_hand(displayed, hands[displayed.name])
            self._shown[displayed.name] = displayed.pose, displayed.forearm
            if posed is not None:
                changed.append(_shown_hand(posed, displayed, device_transforms.get(subject_of(displayed.name))))
        return bool(changed) and apply_pose.pose(changed)

    def invalidate(self) -> None:
        """Pose all hands again at the next call of `pose`, since something else may have moved the bones."""
        self._shown.clear()

    def put_back(self) -> None:
        """Restore the pose that all bones had before."""
        for posed in self.posed().values():
            posed.put_back()

    def posed(self) -> dict[str, RigHand]:
        """Return the posed hands by name."""
        return {name: posed for name, posed in self._posed.items() if posed is not None}

    def strains(self) -> list[str]:
        """Return a sentence on each hand whose wrist is posed as no person's is in the frame that is shown."""
        movers = [posed.mover for posed in self.posed().values() if posed.mover is not None]
        remedy = "press Recenter, or drive the fingers only"
        return [
            note
            for mover in movers
            if mover.strain is not None
            for note in strain_notes(mover.keyed.binding.side, [mover.strain], remedy)
        ]

    def rest_transform(self, hand: str) -> Floats | None:
        """T_world_wrist (4, 4) at rest of the rig's hand that a hand drives; None if it drives none."""
        posed = self._posed.get(hand)
        armature = posed.find_armature() if posed else None
        if armature is None or posed is None:
            return None
        transform: Floats = np.array(armature.matrix_world) @ posed.binding.rest[0]
        return transform

    def _rig_hand(self, displayed: DisplayedHand, hand: FollowedHand) -> RigHand | None:
        """Return the rig's hand that a hand drives, bound again if needed; None if it cannot be posed now."""
        posed = self._posed.get(displayed.name)
        if posed is None:
            return None if displayed.name in self._posed else self._start(displayed, hand, None)
        state = apply_pose.state(posed)
        if state == "gone":
            problem = f"the armature '{posed.armature.name}' or bones of its hand are gone, stop and start again"
            self.problems[displayed.name] = problem
            return None
        if state == "edited":
            self._edited.add(displayed.name)
            return None
        # Edited bones may have another rest pose.
        if posed.hand is not displayed.pose.hand or displayed.name in self._edited:
            return self._start(displayed, hand, posed)
        self.problems.pop(displayed.name, None)
        return posed

    def _start(self, displayed: DisplayedHand, hand: FollowedHand, before: RigHand | None) -> RigHand | None:
        self._edited.discard(displayed.name)
        self.problems.pop(displayed.name, None)
        # Binding may change frames, after which hands are posed, but not this one.
        self._posed[displayed.name] = None
        try:
            self._posed[displayed.name] = self._bind(displayed, hand, before)
        except KnuckleError as error:
            self.problems[displayed.name] = str(error)
        return self._posed[displayed.name]

    def _bind(self, displayed: DisplayedHand, hand: FollowedHand, before: RigHand | None) -> RigHand | None:
        """Bind a hand to the rig's hand that it drives; None if there is none. before: the previous one."""
        chosen = self.armature_of(subject_of(displayed.name))
        if chosen is None and before is not None and before.hand is displayed.pose.hand:
            # The user has edited the bones of a new hand: from now on it is an armature like others.
            chosen = before.armature
        armature: Object | None = chosen.among(bpy.data.objects) if chosen else None
        if chosen and armature is None:
            self.problems[displayed.name] = f"the armature '{chosen.name}' is gone, choose another"
            return None
        if armature is None:
            return self._build_hand(displayed, hand, before)
        found = next((found for found in find_hands(armature, [displayed.side]) if found.side == displayed.side), None)
        if found is None:
            self.problems[displayed.name] = (
                f"armature '{armature.name}' has no {displayed.side} hand, so that the performer's is not shown"
            )
            return None
        started = apply_pose.make_driven_hand(
            armature,
            found,
            displayed.pose.hand,
            limited=self._recipe.rig_limits,
            drive=self._recipe.drive,
            digits=self._recipe.digits,
        )
        return started if before is None else replace(started, before=started.before | before.before)

    def _build_hand(self, displayed: DisplayedHand, hand: FollowedHand, before: RigHand | None) -> RigHand:
        """Build a hand with the performer's proportions, replacing the one built for earlier measurements."""
        scene = self._scene.among(bpy.data.scenes)
        old: list[Object | None] = [
            obj for obj in scene.objects if is_armature(obj) and obj.get(HAND_PROPERTY) == displayed.name
        ]
        if before is not None:
            old = [before.armature.among(bpy.data.objects)]
        for obj in old:
            if obj is not None and _is_unmodified(obj):
                _remove(obj)
        built, _ = new_hand(hand.measured.proportions, hand.hand, scene.collection, hand.skin)
        built[HAND_PROPERTY] = displayed.name
        self.made = True
        return apply_pose.make_driven_hand(
            built, None, displayed.pose.hand, drive=self._recipe.drive, digits=self._recipe.digits
        )


def _shown_hand(posed: RigHand, displayed: DisplayedHand, device_transform: Floats | None) -> apply_pose.RigHandPose:
    """Return a hand to pose at its performer's location."""
    pose = (
        displayed.pose
        if device_transform is None
        else replace(displayed.pose, root=device_transform @ displayed.pose.root)
    )
    return apply_pose.RigHandPose(posed, pose, displayed.forearm.on(pose.root) if displayed.forearm else None)


def _is_unmodified(obj: "Object") -> bool:
    """Return whether a hand is as it was built: no animation, transform, users or children besides its skin."""
    moved = not np.allclose(np.array(obj.matrix_world), np.eye(4)) or obj.parent or obj.constraints
    return not (moved or obj.users > len(obj.users_collection) or obj.animation_data or len(obj.children) > 1)


def _remove(hand: "Object") -> None:
    """Delete a hand that was built here, and its skin."""
    for child in hand.children:
        if isinstance(child.data, bpy.types.Mesh) and child.name.startswith(f"{hand.name} Skin"):
            bpy.data.meshes.remove(child.data)
    if isinstance(hand.data, bpy.types.Armature):
        bpy.data.armatures.remove(hand.data)
