"""Hands as rigs hold them, made by forward kinematics, of which it is known which bone is which joint."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from knuckle.hand import kinematics, proportions
from knuckle.hand.joints import CHAIN_JOINTS, DIGIT_JOINTS, DIGITS, JOINT_INDEX, Side
from knuckle.rig.detection import Bone

Floats = NDArray[np.float64]
ALL = frozenset(DIGITS)


@dataclass(frozen=True)
class Make:
    """How a rig's hand is built."""

    metacarpals: bool = True
    tips: bool = True
    extra_tips: int = 0
    digits: frozenset[str] = ALL
    phalanges: int = 3
    arm: bool = True
    flat: bool = False
    curl: float = 0.2
    """Share of every joint's flexion."""
    vary: float = 0.12
    """The lengths of bones differ by up to this share from the mean hand's."""
    thumb_last: bool = False


def hand(side: Side, make: Make, seed: int) -> tuple[list[Bone], dict[str, str]]:
    """The bones of a hand and joint -> bone; named as joints, wrist in the origin, fingers along Y, back along Z."""
    rng = np.random.default_rng(seed)
    places = _places(side, make, rng)
    bones: list[Bone] = []
    truth: dict[str, str] = {}
    above = _arm(bones) if make.arm else None

    def add(joint: str, head: Floats, tail: Floats, parent: str | None) -> str:
        if make.flat:
            tail, parent = head + rng.normal(size=3) * 0.05, None
        bones.append(Bone(joint, parent, _point(head), _point(tail)))
        return joint

    middle = places["middle-finger-phalanx-proximal"]
    truth["wrist"] = add("wrist", places["wrist"], 0.4 * places["wrist"] + 0.6 * middle, above)
    order = [*DIGITS[1:], "thumb"] if make.thumb_last else DIGITS
    for digit in (digit for digit in order if digit in make.digits):
        parent = "wrist"
        for joint, following in _steps(digit, make, places):
            parent = truth[joint] = add(joint, places[joint], following, parent)
        if make.tips:
            tip, before = places[f"{digit}-tip"], places[parent]
            parent = truth[f"{digit}-tip"] = add(f"{digit}-tip", tip, tip + 0.3 * (tip - before), parent)
            for extra in range(make.extra_tips):
                step = 0.3 * (tip - before)
                parent = add(f"{digit} extra {extra}", tip + (extra + 1) * step, tip + (extra + 2) * step, parent)
    return bones, truth


def _places(side: Side, make: Make, rng: np.random.Generator) -> dict[str, Floats]:
    mean = proportions.adult(side)
    one = 1 + rng.uniform(-make.vary, make.vary, mean.phalanges.shape)
    palm = (
        mean.palm * (1 + rng.uniform(-make.vary, make.vary, 3)) + rng.uniform(-0.02, 0.02, mean.palm.shape) * make.vary
    )
    built = proportions.build(replace(mean, phalanges=mean.phalanges * one, palm=palm))
    flexes = np.array([movement == "flexion" for movement in built.movements])
    angles = np.where(flexes, make.curl * built.limits[:, 1], 0.0)
    pose = kinematics.Pose(built, np.eye(4)[None], angles[None])
    frames = kinematics.joint_frames(built, pose)[0, :, :3, 3]
    return {joint: frames[row] for joint, row in JOINT_INDEX.items()}


def _steps(digit: str, make: Make, places: dict[str, Floats]) -> list[tuple[str, Floats]]:
    """The joints of a digit that have a bone, and where each bone ends."""
    joints = list(DIGIT_JOINTS[digit])
    if digit != "thumb" and not make.metacarpals:
        joints.pop(0)
    if make.phalanges == 2:
        joints.remove(CHAIN_JOINTS[digit][2 if digit != "thumb" else 0])
    return [(joint, places[following]) for joint, following in pairwise(joints)]


def _arm(bones: list[Bone]) -> str:
    above = None
    for name, head, tail in (
        ("root", (0.1, -0.9, 0.3), (0.1, -0.9, 0.4)),
        ("chest", (0.1, -0.9, 0.4), (0.0, -0.6, 0.4)),
        ("upper", (0.0, -0.6, 0.1), (0.0, -0.3, 0.0)),
        ("fore", (0.0, -0.3, 0.0), (0.0, 0.0, 0.0)),
    ):
        bones.append(Bone(name, above, head, tail))
        above = name
    bones.append(Bone("twist", "fore", (0.0, -0.15, 0.0), (0.0, 0.0, 0.0)))
    return "fore"


def moved(bones: list[Bone], matrix: Floats, offset: Floats) -> list[Bone]:
    """The bones elsewhere: by a matrix (3, 3) and an offset (3,)."""
    return [
        replace(bone, head=_point(matrix @ bone.head + offset), tail=_point(matrix @ bone.tail + offset))
        for bone in bones
    ]


def renamed(bones: list[Bone], names: dict[str, str]) -> list[Bone]:
    """The bones with other names."""
    return [replace(bone, name=names[bone.name], parent=names[bone.parent] if bone.parent else None) for bone in bones]


def _point(place: Floats) -> tuple[float, float, float]:
    x, y, z = (float(value) for value in place)
    return x, y, z
