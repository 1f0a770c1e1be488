"""Writes the tables of docs/reference/rigs.md: the hands found in each test rig, how their digits curl, and bakes.

python tools/rigs_table.py
"""

import tempfile
from pathlib import Path

import bpy
import numpy as np

from knuckle.errors import RigError
from knuckle.rig.armature_hands import FoundHand, find_hands
from knuckle.tests.blender.baking import HELD, Bone, bake, headset_clip, measured
from knuckle.tests.blender.curling import Curl, curls, whole_curls
from knuckle.tests.blender.rigs import PLACES, RIGS, Truth, mirrored, placed, strange
from knuckle.tools.doc_sections import fill

ROOT = Path(__file__).resolve().parents[1]
CAPTURES = ROOT.parent / "shared" / "data" / "captures"
FOUND_HEAD = (
    "| Rig | Bones | Right | Least confidence | x1 … xn | at 0.01 | mirrored "
    "| Nearer by | Aside | Whole: nearer | aside |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|\n"
)
BAKED_HEAD = (
    "| Rig | Gloves: kept | tips | Headset: kept | tips | Beyond | Changed | x1 … xn | at 0.01 | mirrored |\n"
    "|---|---|---|---|---|---|---|---|---|---|\n"
)
GLOVES, POSES = slice(0, None, 10), slice(HELD // 2, None, HELD)
"""Frames that are measured."""


def main() -> None:
    """Open every rig and write a row for each into both tables."""
    page = ROOT / "docs" / "reference" / "rigs.md"
    with tempfile.TemporaryDirectory() as folder:
        clip = headset_clip(CAPTURES / "webxr_poses_right.js", Path(folder) / "poses.json")
        fill(
            page,
            {
                "detection": FOUND_HEAD + "".join(row(name) for name in RIGS),
                "bakes": BAKED_HEAD + "".join(baked(name, clip, CAPTURES / "two_hands_glove.c3d") for name in RIGS),
            },
        )
    print(f"{len(RIGS)} rigs, Blender {bpy.app.version_string}")


def baked(name: str, clip: Path, glove: Path) -> str:
    """Return a rig's row of bakes: both gloves, and the poses of a headset where the rig has a right hand."""
    gloves = bones_of(name, glove, GLOVES)
    poses = bones_of(name, clip, POSES) if any(bone.side == "right" for bone in gloves) else []
    cells = [name, *angle_cells(gloves), *angle_cells(poses)]
    cells += [f"{max(bone.beyond for bone in gloves + poses):.2f}°", f"{max(b.changed for b in gloves + poses):.2f}°"]
    odd = [bones_of(name, glove, GLOVES, place=placement) for placement in PLACES]
    cells += [f"{max(bone.kept for bone in bones):.2f}°" for bones in odd]
    return "| " + " | ".join(cells) + " |\n"


def angle_cells(bones: list[Bone]) -> tuple[str, str]:
    """Return the largest angle of all bones to the direction that they should keep; and the median, 95th percentile and
    maximum of the last bones' angles to the observed directions."""
    if not bones:
        return "–", "–"
    observed = np.array([bone.seen for bone in bones if bone.last])
    observed = observed[np.isfinite(observed)]
    quantiles = np.quantile(observed, [0.5, 0.95, 1.0]) if observed.size else ()
    return f"{max(bone.kept for bone in bones):.2f}°", ", ".join(f"{angle:.1f}°" for angle in quantiles) or "–"


def bones_of(name: str, capture: Path, frames: slice, place: str | None = None) -> list[Bone]:
    """Bake onto a rig and measure its bones. place: how the rig is modified and its parent placed, None for neither."""
    armature, truth = opened(name)
    if place is not None:
        strange(armature, truth, rolled=not any(bone.constraints for bone in armature.pose.bones))
        placed(armature, place)
    return list(measured(armature, bake(armature, capture), frames))


def row(name: str) -> str:
    """Return a rig's row."""
    armature, truth = opened(name)
    found = find_hands(armature)
    confidence = min(value for hand in found for value in hand.confidence.values())
    curl_values = [curl for hand in found for curl in curls(armature, hand)]
    nearer = min(curl.nearer for curl in curl_values)
    aside = max(curl.aside for curl in curl_values if not curl.joint.startswith("thumb"))
    whole = [curl for hand in found for curl in whole_curls(armature, hand)]
    cells = [name, str(len(armature.data.bones)), right(found, truth), f"{confidence:.2f}"]
    cells += [found_when_strange(name, placement) for placement in PLACES]
    return "| " + " | ".join([*cells, f"{nearer:.2f}", f"{aside:.0f}°", *whole_curl_cells(whole)]) + " |\n"


def whole_curl_cells(whole: list[Curl]) -> tuple[str, str]:
    """Return for digits with all joints curled the smallest approach of a tip, and the largest sideways angle."""
    aside = max(curl.aside for curl in whole if not curl.joint.startswith("thumb"))
    return f"{min(curl.nearer for curl in whole):.2f}", f"{aside:.0f}°"


def opened(name: str) -> tuple[bpy.types.Object, Truth]:
    """Open a rig in an empty file."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return RIGS[name]()


def found_when_strange(name: str, placement: str) -> str:
    """Return the number of correct digits with other bone names, other rolls and the armature on a parent placed like
    this."""
    armature, truth = opened(name)
    truth = strange(armature, truth)
    placed(armature, placement)
    try:
        return right(find_hands(armature), mirrored(truth) if placement == "mirrored" else truth)
    except RigError:
        return "none"


def right(found: tuple[FoundHand, ...], truth: Truth) -> str:
    """Return the number of digits with all bones correct and on the correct side."""
    bones = {hand.side: hand.bones for hand in found}
    hits = []
    for side, expected in truth.items():
        for digit in ("thumb", "index", "middle", "ring", "pinky"):
            expected_bones = {joint: bone for joint, bone in expected.items() if joint.startswith(digit)}
            hits.append(expected_bones == {j: bone for j, bone in bones.get(side, {}).items() if j.startswith(digit)})
    return f"{int(np.sum(hits))}/{len(hits)}"


if __name__ == "__main__":
    main()
