"""Makes the picture and table of docs/explanation/proportions.md: a pinch retargeted in three ways to a hand of other
proportions, and the errors of the tests' recordings on the tests' rigs.

    python tools/proportions_page.py

The table needs the recordings and rigs beside the checkout (../shared/data).
"""

import tempfile
from dataclasses import replace
from pathlib import Path

import bpy
import hand_pictures
import numpy as np

hand_pictures.load_package()

from knuckle.hand import poses  # noqa: E402
from knuckle.hand.kinematics import Pose  # noqa: E402
from knuckle.hand.proportions import Proportions, adult, build, rest_frames_in_wrist  # noqa: E402
from knuckle.pipeline.recipe import KEEPS, Recipe  # noqa: E402
from knuckle.pipeline.retarget import RestHand, RetargetMode, build_character, retarget  # noqa: E402
from knuckle.rig.default_hand import add_hand  # noqa: E402
from knuckle.tests.blender.rigs import RIGS  # noqa: E402
from knuckle.tests.blender.test_bakes import readable  # noqa: E402
from knuckle.tests.blender.test_proportions import GLOVE, POSES, baked, misses  # noqa: E402
from knuckle.tests.resources import Folder  # noqa: E402
from knuckle.tools.doc_sections import fill  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
PAGE, PICTURE = ROOT / "docs" / "explanation" / "proportions.md", ROOT / "docs" / "pictures" / "proportions.png"
HEAD = (
    "| Rig | Recording | s | " + " | ".join(f"{what}: tips, gaps" for what in KEEPS) + " |\n|---|---|---|---|---|---|\n"
)
SHOWN = ("WebXR, right", "MakeHuman", "MakeHuman for games", "Rigify metarig", "Rigify generated")
SHAPE = np.array([1.3, 1.15, 1.0, 0.95, 0.9])[:, None]
"""Factors on the bone lengths of a large hand's digits, in addition to its scale of 2."""
PIXELS = 420


def main() -> None:
    """Write the picture, then the table."""
    hand_pictures.write_picture(PICTURE, picture())
    rows = "".join(row(name, recording, Folder()) for name in SHOWN for recording in ("glove", "gestures"))
    fill(PAGE, {"recordings": HEAD + rows})


def picture() -> hand_pictures.Floats:
    """Return a picture (H, W, 3) of the performer's pinch and a large hand's in three ways, from the thumb's side and
    the tips."""
    measures = adult("right")
    performer = build(measures)
    pinch = Pose(performer, np.eye(4)[None], poses.angles(performer, "pinch")[None])
    large = replace(measures, phalanges=measures.phalanges * SHAPE).scaled(2.0)
    other = build_character(performer, RestHand(rest_frames_in_wrist(large)[:, :3, 3]))
    retargeted = [retarget(pinch, other, RetargetMode(mode)).pose for mode in KEEPS]
    return np.concatenate([shot(measures, pinch), *(shot(large, pose) for pose in retargeted)], axis=1)


def shot(measures: Proportions, pose: Pose) -> hand_pictures.Floats:
    """Return a picture (2 · PIXELS, PIXELS, 3) of a posed hand from two sides."""
    scene = hand_pictures.empty_scene()
    armature = add_hand(measures, "Hand", scene.collection)
    hand_pictures.pose_hand(armature, pose.rotations[0])
    points = hand_pictures.skin_points(armature.children[0])
    return np.concatenate(
        [hand_pictures.render_view(scene, points, view, PIXELS, np.eye(3)) for view in ("thumb", "tips")]
    )


def row(name: str, recording: str, shared: Folder) -> str:
    """Return a rig's row: mean and largest distances in mm, as Blender evaluates the rig.

    shared: where the recordings are.
    """
    cells, scales = [], set[str]()
    for what in KEEPS:
        bpy.ops.wm.read_factory_settings(use_empty=True)
        armature, _ = RIGS[name]()
        with tempfile.TemporaryDirectory() as folder:
            path = shared.file(GLOVE) if recording == "glove" else readable(shared.file(POSES), Path(folder))
            take = baked(armature, Recipe(str(path), keep=what))
        every = max(1, len(take.times) // 60)
        errors, gaps = misses(armature, take, every)
        scales |= {f"{hand.retargeted.scale:.2f}" for hand in take.hands if hand.retargeted}
        cells.append(", ".join(f"{np.nanmean(of):.1f} / {np.nanmax(of):.1f}" for of in (errors, gaps)))
    return f"| {name} | {recording} | {', '.join(sorted(scales))} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    main()
