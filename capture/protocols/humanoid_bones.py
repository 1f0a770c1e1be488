"""The bones of Unity's humanoid from the hips to the fingers: their hierarchy, and forward kinematics.

In plain floats, because numpy would take ten times as long for some forty bones per frame.
"""

from collections.abc import Mapping

from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, SIDES, Side

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Transform = tuple[Vector, Quaternion]
"""Position in m and unit quaternion wxyz of a bone, in its parent or in the world."""

IDENTITY: Transform = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
ROOT = "root"
TRUNK = ("Hips", "Spine", "Chest", "UpperChest")
ARM = ("Shoulder", "UpperArm", "LowerArm", "Hand")
DIGIT_BONES = ("Thumb", "Index", "Middle", "Ring", "Little")
PHALANGES = ("Proximal", "Intermediate", "Distal")


def _hand_bones(side: Side) -> dict[str, str]:
    """Return bone -> the joint at which it starts, for a hand's 16 bones, parents first.

    For example, 'LeftThumbProximal' -> the CMC.
    """
    name = side.capitalize()
    bones = {f"{name}Hand": "wrist"}
    for digit, joints in zip(DIGIT_BONES, CHAIN_JOINTS.values(), strict=True):
        bones |= {f"{name}{digit}{part}": joint for part, joint in zip(PHALANGES, joints, strict=False)}
    return bones


def _parent_bones() -> dict[str, str]:
    """Return bone -> its parent, parents first."""
    parents = dict(zip(TRUNK, (ROOT, *TRUNK), strict=False))
    for name in (side.capitalize() for side in SIDES):
        arm = [f"{name}{part}" for part in ARM]
        parents |= dict(zip(arm, (TRUNK[-1], *arm), strict=False))
        for digit in DIGIT_BONES:
            chain = [f"{name}{digit}{part}" for part in PHALANGES]
            parents |= dict(zip(chain, (arm[-1], *chain), strict=False))
    return parents


HAND_BONES: dict[Side, dict[str, str]] = {side: _hand_bones(side) for side in SIDES}
JOINT_INDICES = [JOINT_INDEX[joint] for joint in HAND_BONES["left"].values()]
"""(16,) index of each bone's joint among the 25."""
PARENTS = _parent_bones()


def world_transforms(local: Mapping[str, Transform]) -> dict[str, Transform]:
    """Return the world transforms of all bones from their local ones.

    A missing bone gets its parent's transform. Hands that come without a body are thus attached to the root.
    """
    transforms = {ROOT: local.get(ROOT, IDENTITY)}
    for bone, parent in PARENTS.items():
        transforms[bone] = compose(transforms[parent], local[bone]) if bone in local else transforms[parent]
    return transforms


def compose(outer: Transform, inner: Transform) -> Transform:
    """Return the product of two transforms: `outer` of a parent in the world, `inner` of a bone in its parent."""
    (x, y, z), (aw, ax, ay, az) = outer
    (px, py, pz), (bw, bx, by, bz) = inner
    # v + w · t + q × t with t = 2 q × v
    tx, ty, tz = 2 * (ay * pz - az * py), 2 * (az * px - ax * pz), 2 * (ax * py - ay * px)
    return (
        (
            x + px + aw * tx + ay * tz - az * ty,
            y + py + aw * ty + az * tx - ax * tz,
            z + pz + aw * tz + ax * ty - ay * tx,
        ),
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
    )
