"""A BVH file of an avatar's motion, written from the avatar alone: what a person's other program would have saved."""

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from knuckle.tests.pure.capture.devices.avatar import BONES, PARTS, Avatar

UNITY_TO_BVH = np.diag([-1.0, 1.0, 1.0])
"""Both have Y up and look along +Z; BVH is right-handed."""


def write_bvh(path: Path, avatars: list[Avatar], rate: float, resting: Avatar | None = None) -> None:
    """Write the motion of avatars whose bones are aligned with the world in the T-pose, or as one rests, in metres."""
    lines, order = ["HIERARCHY"], list[str]()
    at_rest = resting or Avatar({})
    rest = {bone: UNITY_TO_BVH @ at_rest.places[bone] for bone in BONES}
    rest[""] = np.zeros(3)

    def add(bone: str, above: str, indent: str) -> None:
        order.append(bone)
        channels = "6 Xposition Yposition Zposition" if above == "" else "3"
        lines.append(f"{indent}{'JOINT' if above else 'ROOT'} {bone}")
        lines.append(f"{indent}{{\n{indent} OFFSET {numbers(rest[bone] - rest[above])}")
        lines.append(f"{indent} CHANNELS {channels} Zrotation Xrotation Yrotation")
        below = [name for name, (parent, _) in BONES.items() if parent == bone]
        for name in below:
            add(name, bone, indent + " ")
        if not below:
            step = 0.8 * (rest[bone] - rest[above]) if bone.endswith(PARTS[-1]) else np.array([0.0, 0.1, 0.0])
            lines.append(f"{indent} End Site\n{indent} {{\n{indent}  OFFSET {numbers(step)}\n{indent} }}")
        lines.append(f"{indent}}}")

    add("Hips", "", "")
    lines += ["MOTION", f"Frames: {len(avatars)}", f"Frame Time: {1 / rate:.8f}"]
    for avatar in avatars:
        values = [numbers(UNITY_TO_BVH @ avatar.places["Hips"])]
        for bone in order:
            above, own = (avatar.turns[name] @ at_rest.turns[name].T for name in (BONES[bone][0], bone))
            turned = above.T @ own
            moved = Rotation.from_matrix(UNITY_TO_BVH @ turned @ UNITY_TO_BVH)
            values.append(numbers(moved.as_euler("ZXY", degrees=True)))
        lines.append(" ".join(values))
    path.write_text("\n".join(lines) + "\n")


def numbers(values: np.ndarray) -> str:
    return " ".join(f"{value:.6f}" for value in values)
