"""The bones of Unity's humanoid from the hips to the fingers: how they hang together, and where that puts them.

Plain floats: of some forty bones a frame numpy would take ten times as long.
"""

from collections.abc import Mapping

from ...hand.joints import CHAIN_JOINTS, JOINT_INDEX, SIDES, Side

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Place = tuple[Vector, Quaternion]
"""m and unit wxyz of a bone, in its parent or in the world."""

HERE: Place = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
ROOT = "root"
TRUNK = ("Hips", "Spine", "Chest", "UpperChest")
ARM = ("Shoulder", "UpperArm", "LowerArm", "Hand")
DIGIT_BONES = ("Thumb", "Index", "Middle", "Ring", "Little")
PHALANGES = ("Proximal", "Intermediate", "Distal")


def _hand(side: Side) -> dict[str, str]:
    """The 16 bones of a hand, parents first, and the joint in which each begins: 'LeftThumbProximal' in the CMC."""
    name = side.capitalize()
    bones = {f"{name}Hand": "wrist"}
    for said, joints in zip(DIGIT_BONES, CHAIN_JOINTS.values(), strict=True):
        bones |= {f"{name}{said}{part}": joint for part, joint in zip(PHALANGES, joints, strict=False)}
    return bones


def _parents() -> dict[str, str]:
    """Of each bone its parent, parents first."""
    parents = dict(zip(TRUNK, (ROOT, *TRUNK), strict=False))
    for name in (side.capitalize() for side in SIDES):
        arm = [f"{name}{part}" for part in ARM]
        parents |= dict(zip(arm, (TRUNK[-1], *arm), strict=False))
        for said in DIGIT_BONES:
            chain = [f"{name}{said}{part}" for part in PHALANGES]
            parents |= dict(zip(chain, (arm[-1], *chain), strict=False))
    return parents


HANDS: dict[Side, dict[str, str]] = {side: _hand(side) for side in SIDES}
COLUMNS = [JOINT_INDEX[joint] for joint in HANDS["left"].values()]
"""(16,) which of the 25 joints they are."""
PARENTS = _parents()


def worlds(local: Mapping[str, Place]) -> dict[str, Place]:
    """Where every bone is, from where each is in its parent.

    A bone that is not told is where its parent is: an avatar without it hangs what follows on the parent, and hands
    that come without a body hang on the root.
    """
    found = {ROOT: local.get(ROOT, HERE)}
    for bone, parent in PARENTS.items():
        found[bone] = within(found[parent], local[bone]) if bone in local else found[parent]
    return found


def within(outer: Place, inner: Place) -> Place:
    """A place in the world, from a place in it."""
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
