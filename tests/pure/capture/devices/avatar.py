"""An avatar as Unity has it: left-handed, Y up, looking along +Z. Its own kinematics, none of what is tested."""

from collections.abc import Mapping

import numpy as np
from scipy.spatial.transform import Rotation

DIGITS = ("Thumb", "Index", "Middle", "Ring", "Little")
PARTS = ("Proximal", "Intermediate", "Distal")
TRUNK = {"Hips": (0, 0.95, 0), "Spine": (0, 1.05, 0.01), "Chest": (0, 1.2, 0), "UpperChest": (0, 1.3, 0)}
ARM = {"Shoulder": (-0.03, 1.42, 0), "UpperArm": (-0.14, 1.42, -0.01), "LowerArm": (-0.42, 1.42, 0)}
FIRST = {"Thumb": (-0.69, 1.41, 0.025), "Index": (-0.76, 1.43, 0.03), "Middle": (-0.765, 1.43, 0.005)}
FIRST |= {"Ring": (-0.76, 1.43, -0.015), "Little": (-0.75, 1.425, -0.035)}
ALONG = {"Thumb": (-0.025, 0, 0.025), "Index": (-0.04, 0, 0), "Middle": (-0.045, 0, 0), "Ring": (-0.04, 0, 0)}
ALONG |= {"Little": (-0.03, 0, 0)}


def _skeleton() -> dict[str, tuple[str, np.ndarray]]:
    """Of each bone its parent and where it begins in the T-pose, parents first; the hips' parent is ''."""
    bones = dict(zip(TRUNK, zip(("", *TRUNK), map(np.array, TRUNK.values()), strict=False), strict=True))
    for side, mirror in (("Left", np.array([1, 1, 1])), ("Right", np.array([-1, 1, 1]))):
        above = "UpperChest"
        for part, place in (ARM | {"Hand": (-0.67, 1.42, 0)}).items():
            bones[side + part] = (above, mirror * place)
            above = side + part
        for digit in DIGITS:
            above = f"{side}Hand"
            for number, part in enumerate(PARTS):
                bones[side + digit + part] = (above, mirror * np.add(FIRST[digit], np.multiply(ALONG[digit], number)))
                above = side + digit + part
    return bones


BONES = _skeleton()
HAND_BONES = {
    side: [bone for bone in BONES if bone.startswith(side) and bone[len(side) :] not in ARM]
    for side in ("Left", "Right")
}


def turn(axis, degrees: float) -> np.ndarray:
    """(3, 3) as Unity's Quaternion.AngleAxis."""
    matrix: np.ndarray = Rotation.from_rotvec(np.deg2rad(degrees) * np.array(axis, float)).as_matrix()
    return matrix


def fist(side: str, degrees=(80.0, 60.0, 30.0)) -> dict[str, np.ndarray]:
    """Turns of a hand whose fingers are curled to the palm, which looks down: −X to −Y on the left."""
    about = (0, 0, 1 if side == "Left" else -1)
    return {
        f"{side}{digit}{part}": turn(about, angle)
        for digit in DIGITS[1:]
        for part, angle in zip(PARTS, degrees, strict=True)
    }


class Avatar:
    """turns: (3, 3) of bones against the T-pose, each in its parent; axes: how the bones' own frames stand in it."""

    def __init__(self, turns: Mapping[str, np.ndarray], axes: Mapping[str, np.ndarray] | None = None) -> None:
        own = axes or {}
        self.turns, self.places = {"": np.eye(3)}, {"": np.zeros(3)}
        frames, rest = {"": np.eye(3)}, {"": np.zeros(3)}
        self.local: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        """Place (3,) and turn (4,) xyzw of each bone in its parent, as they are sent."""
        for bone, (above, place) in BONES.items():
            self.turns[bone] = self.turns[above] @ turns.get(bone, np.eye(3))
            self.places[bone] = self.places[above] + self.turns[above] @ (place - rest[above])
            frames[bone] = self.turns[bone] @ own.get(bone, np.eye(3))
            inner = frames[above].T @ frames[bone]
            offset = frames[above].T @ (self.places[bone] - self.places[above])
            self.local[bone] = (offset, Rotation.from_matrix(inner).as_quat())
            rest[bone] = place


def blender(points) -> np.ndarray:
    """(..., 3) Unity's points as Blender has them: seen from the front, left stays left."""
    x, y, z = np.moveaxis(np.asarray(points, float), -1, 0)
    return np.stack([-x, -z, y], -1)
