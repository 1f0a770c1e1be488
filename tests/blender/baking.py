"""Recordings baked onto a rig by the whole path, and how its evaluated bones then stand against what was recorded."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX, Side
from knuckle.hand.model import HandModel, Movement
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import SolvedHand, Take
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.rig.bound_hand import bound_hand
from knuckle.rig.keys.take_scene import TakeTiming, take_frames, write_take
from knuckle.rig.rest_frames import rest_world
from knuckle.rig.rig_query import RigQuery
from knuckle.rig.sources.reading import read_capture

Floats = NDArray[np.float64]

HELD = 5
"""Frames for which each pose of a headset is held."""


@dataclass(frozen=True)
class Bone:
    """One bone of a digit on one frame; angles in degrees."""

    side: Side
    joint: str
    """Where it begins."""
    kept: float
    """Between it and the bone of the hand that was to be kept."""
    seen: float
    """Between it and the way from this joint's marker to the next one's, NaN where one was not seen."""
    beyond: float
    """By how much its joint is turned beyond the limits of the solved hand, read from the evaluated bones."""
    changed: float
    """Between how it is keyed and what the rig makes of it: its constraints, locks and drivers."""

    @property
    def last(self) -> bool:
        """Whether it is a fingertip's."""
        return any(self.joint == chain[2] for chain in CHAIN_JOINTS.values())


def headset_poses(path: Path) -> list[dict[str, Any]]:
    """The poses of a headset's right hand as its script keeps them: each alone is a capture of one frame."""
    return [json.loads(pose) for pose in re.findall(r'^\s*(\{"names":.*\}),?\s*$', path.read_text(), re.M)]


def headset_clip(path: Path, clip: Path) -> Path:
    """The poses of a headset in turn, each HELD frames long, as a recording that has them all."""
    places = [pose["jointPositions"] for pose in headset_poses(path) for _ in range(HELD)]
    frames = [{"time_s": frame / 30, "hands": {"right": {"jointPositions": of}}} for frame, of in enumerate(places)]
    clip.write_text(json.dumps({"frames": frames}))
    return clip


def bake(armature: bpy.types.Object, capture: Path, **recipe: Any) -> Take:
    """Solves a capture within what the rig lets a hand do, and keys the rig, by default with its wrist."""
    job = SolveJob(Recipe(str(capture), **{"drive": "wrist"} | recipe), RigQuery.of(armature), reader=read_capture)
    for _ in job.steps():
        pass
    assert job.take is not None
    write_take(job.take, armature, bpy.context.scene, bpy.context.scene.collection, TakeTiming())
    return job.take


def measured(armature: bpy.types.Object, take: Take, chosen: slice) -> Iterator[Bone]:
    """Every bone of the digits on some of the take's frames."""
    scene = bpy.context.scene
    found = {hand.side: hand for hand in find_hands(armature)}
    hands = [_Baked(armature, found[solved.side], solved) for solved in take.hands if solved.side in found]
    times = take_frames(take, scene, TakeTiming())
    for row in range(len(times))[chosen]:
        whole = int(np.floor(times[row]))
        scene.frame_set(whole, subframe=float(times[row]) - whole)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        for hand in hands:
            yield from hand.bones(posed, row)


class _Baked:
    """One hand of a rig and what it was baked from."""

    def __init__(self, armature: bpy.types.Object, found: FoundHand, solved: SolvedHand) -> None:
        self.side, self.names, self.hand = found.side, found.bones, solved.hand
        assert solved.retargeted is not None
        kept = solved.retargeted.pose
        self.kept = kinematics.joint_frames(kept.hand, kept)[..., :3, 1]
        binding = bound_hand(armature, found, solved.hand)
        # How bones stand in their joints is known from rest; that keys bring them there again is what is looked at.
        self.from_bone = {
            joint: np.linalg.inv(binding.rest_to_bone[JOINT_INDEX[joint], :3, :3]) for joint in self.names
        }
        self.straight = rest_world(solved.hand)[:, :3, :3]
        targets = solved.targets
        self.seen = np.full((len(targets), len(solved.hand.joints), 3), np.nan)
        for column, site in enumerate(targets.sites):
            at = solved.hand.sites[site]
            if not any(at.offset):
                places = np.where(targets.weights[:, [column]] > 0, targets.positions[:, column], np.nan)
                self.seen[:, at.joint] = places

    def bones(self, posed: bpy.types.Object, row: int) -> Iterator[Bone]:
        world = np.array(posed.matrix_world)[:3, :3]
        turns = {joint: self._turn(posed, world, joint) for joint in self.names}
        for digit in DIGITS:
            chain = [joint for joint in CHAIN_JOINTS[digit] if joint in self.names]
            ends = joint_ends(posed, [self.names[joint] for joint in chain], tip=chain[-1] == CHAIN_JOINTS[digit][3])
            before = "wrist"
            for joint, (head, tail) in zip(chain, pairwise(ends), strict=False):
                index = JOINT_INDEX[joint]
                along, following = world @ (tail - head), JOINT_INDEX[CHAIN_JOINTS[digit][3]]
                if joint != chain[-1]:
                    following = JOINT_INDEX[chain[chain.index(joint) + 1]]
                way = self.seen[row, following] - self.seen[row, index]
                first = joint == CHAIN_JOINTS[digit][0]
                zero = turns[before] @ self.straight[index] if first else turns[before]
                yield Bone(
                    self.side,
                    joint,
                    degrees(along, self.kept[row, index]),
                    degrees(along, way),
                    _beyond(self.hand, index, zero.T @ turns[joint]),
                    _changed(posed.pose.bones[self.names[joint]]),
                )
                before = joint

    def _turn(self, posed: bpy.types.Object, world: Floats, joint: str) -> Floats:
        """(3, 3) a joint's frame in the world, by the directions of its bone: a mirror does not turn them about."""
        pose = np.array(posed.pose.bones[self.names[joint]].matrix)[:3, :3]
        seen = world @ (pose / np.linalg.norm(pose, axis=0)) @ self.from_bone[joint]
        y = seen[:, 1] / np.linalg.norm(seen[:, 1])
        x = np.cross(y, seen[:, 2])
        x /= np.linalg.norm(x)
        frame: Floats = np.stack([x, y, np.cross(x, y)], axis=1)
        return frame


def joint_ends(posed: bpy.types.Object, names: list[str], tip: bool) -> list[Floats]:
    """(3,) of a digit's joints and its tip: where bones that move the skin begin, and where the last ends.

    A generated Rigify rig moves its skin by DEF- bones, which follow the controls that are keyed.
    """
    bones = posed.pose.bones
    moved = [bones[f"DEF-{name}" if f"DEF-{name}" in bones else name] for name in names]
    heads = [np.array(bone.head) for bone in moved]
    return heads if tip else [*heads, np.array(moved[-1].tail)]


def _beyond(hand: HandModel, joint: int, turn: Floats) -> float:
    """Degrees that a turn (3, 3) of a joint is beyond its limits, taken apart by Blender: about Z, then Y, then X."""
    euler = Matrix(turn.tolist()).to_euler("XYZ")
    mirror = 1.0 if hand.side == "right" else -1.0
    angles: dict[Movement, float] = {"flexion": -euler.x, "twist": mirror * euler.y, "abduction": mirror * euler.z}
    excess = [0.0]
    for movement, angle in angles.items():
        dof = hand.dof(hand.joints[joint], movement)
        low, high = (0.0, 0.0) if dof is None else hand.limits[dof]
        excess.append(max(low - angle, angle - high))
    return float(np.degrees(max(excess)))


def _changed(bone: bpy.types.PoseBone) -> float:
    """Degrees between a bone as it is keyed and as it is evaluated, relative to its rest on its parent."""
    above = bone.parent
    held = above.matrix @ above.bone.matrix_local.inverted() if above else Matrix.Identity(4)
    rest = bone.bone.matrix_local if not above or bone.bone.use_inherit_rotation else held.inverted()
    local = (held @ rest).to_3x3().normalized().inverted() @ bone.matrix.to_3x3().normalized()
    angle = local.to_quaternion().rotation_difference(bone.matrix_basis.to_quaternion()).angle
    return float(np.degrees(min(angle, 2 * np.pi - angle)))


def degrees(one: Floats, other: Floats) -> float:
    """Between two vectors (3,); NaN where one of them is not known."""
    return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other)))
