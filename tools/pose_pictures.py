"""Renders the named poses: the previews of the pose assets, and the sheets of docs/how-to/poses.md.

    python tools/pose_pictures.py [--previews] [--sheets]

Previews are data/poses.png, one below the other with a transparent background; sheets are docs/pictures/poses*.png.
Makes both if neither is named. Needs bpy and, without a screen, Mesa's EGL; ../shared for the sheet of a rig.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import hand_pictures  # noqa: E402

hand_pictures.load_package()
import rig_pictures  # noqa: E402

from knuckle.hand.kinematics import joint_rotations  # noqa: E402
from knuckle.hand.poses import POSES, angles  # noqa: E402
from knuckle.hand.proportions import adult, build  # noqa: E402
from knuckle.rig.default_hand import add_hand  # noqa: E402
from knuckle.rig.posing.hand_poses import apply_pose  # noqa: E402
from knuckle.rig.posing.posable_hand import make_rig_hand  # noqa: E402
from knuckle.rig.posing.pose_assets import PREVIEWS  # noqa: E402

Floats = NDArray[np.floating[Any]]

PREVIEW = 128
"""Width and height of a preview, pixels."""
TILE = 230
COLUMNS = 6
"""Number of poses in each row of a sheet."""
hand_pictures.VIEWS |= {"preview": ((-0.5, 0.1, -0.85), (0, 1, 0)), "aside": ((-0.9, 0.0, -0.45), (0, 1, 0))}
ON_A_RIG = ("fist", "ok", "victory", "letter-y", "grip-pen", "letter-e", "letter-b", "thumbs-up")
RIGS = ("MakeHuman", "Rigify generated")


def render_poses(view: str, pixels: int, names: tuple[str, ...]) -> list[Floats]:
    """Return a picture of Knuckle's right hand in each pose, with the current scene settings."""
    scene = bpy.context.scene
    measures = adult("right")
    armature, hand = add_hand(measures, "Hand", scene.collection), build(measures)
    pictures = []
    for name in names:
        hand_pictures.pose_hand(armature, joint_rotations(hand, angles(hand, name)[None])[0])
        points = hand_pictures.skin_points(armature.children[0])
        pictures.append(hand_pictures.render_view(scene, points, view, pixels, np.eye(3)))
    bpy.data.objects.remove(armature.children[0])
    bpy.data.objects.remove(armature)
    return pictures


def previews() -> None:
    """Render previews with transparency, from one picture on a black background and one on white."""
    scene = hand_pictures.empty_scene()
    pictures = []
    for colour in ((0.0,) * 3, (1.0,) * 3):
        scene.world.color = colour
        pictures.append(np.concatenate(render_poses("preview", PREVIEW, tuple(POSES))))
    black, white = pictures
    transparency = np.clip((white - black).min(axis=-1) / (white - black).max(), 0.0, 1.0)
    opacity = 1.0 - transparency
    colours = np.clip(black / np.maximum(opacity, 1e-3)[..., None], 0.0, 1.0)
    hand_pictures.write_picture(PREVIEWS, np.dstack([colours, opacity]))


def grid(tiles: list[Floats]) -> Floats:
    """Arrange pictures in rows of COLUMNS; the last row is filled with background."""
    background = np.broadcast_to(tiles[0][0, 0], tiles[0].shape)
    tiles = tiles + [background] * (-len(tiles) % COLUMNS)
    rows = [np.concatenate(tiles[first : first + COLUMNS], axis=1) for first in range(0, len(tiles), COLUMNS)]
    return np.concatenate(rows)


def sheets() -> None:
    """Render all poses from the palm and from the thumb's side, in the order of POSES."""
    hand_pictures.empty_scene()
    both = zip(render_poses("palm", TILE, tuple(POSES)), render_poses("aside", TILE, tuple(POSES)), strict=True)
    tiles = [np.concatenate(pair, axis=0) for pair in both]
    hand_pictures.write_picture(ROOT / "docs/pictures/poses.png", grid(tiles))
    if rig_pictures.CAPTURES.is_dir():
        rows = [on_rig(name) for name in RIGS]
        hand_pictures.write_picture(ROOT / "docs/pictures/poses-rigs.png", np.concatenate(rows))


def on_rig(name: str) -> Floats:
    """Render some poses on the right hand of a rig, from the palm and, below, from the thumb's side."""
    tiles = []
    for pose in ON_A_RIG:
        hand = next(hand for hand in rig_pictures.opened(name) if hand.side == "right")
        apply_pose(make_rig_hand(hand.armature, hand.found), pose)
        bpy.context.view_layer.update()
        tiles.append(np.concatenate([rig_pictures.tile(hand, view, TILE) for view in rig_pictures.VIEWS], axis=0))
    return np.concatenate(tiles, axis=1)


def main() -> None:
    """Make the requested pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--previews", action="store_true")
    parser.add_argument("--sheets", action="store_true")
    options = parser.parse_args()
    if options.previews or not options.sheets:
        previews()
    if options.sheets or not options.previews:
        sheets()


if __name__ == "__main__":
    main()
