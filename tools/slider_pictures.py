"""Renders the effect of the posing sliders: one row for each slider, with three values from two sides each.

    python tools/slider_pictures.py [--out docs/pictures] [--pixels 150]

One picture for each hand: Knuckle's own and, where ../shared is, MakeHuman's. Needs bpy and, without a screen, Mesa's
EGL.
"""

import argparse
import sys
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import hand_pictures  # noqa: E402
import rig_pictures  # noqa: E402

hand_pictures.load_package()
from knuckle.hand import proportions  # noqa: E402
from knuckle.hand.kinematics import Pose  # noqa: E402
from knuckle.posing.sliders import SLIDERS, Slider, Sliders  # noqa: E402
from knuckle.rig import detection_cache  # noqa: E402
from knuckle.rig.armature_hands import find_hands  # noqa: E402
from knuckle.rig.keys.take_scene import new_hand  # noqa: E402
from knuckle.rig.posing.posable_cache import posable_hand  # noqa: E402
from knuckle.rig.posing.rig_hand import HandState, RigHand  # noqa: E402

Floats = NDArray[np.float64]

Shown = tuple[Slider, tuple[float, float, float], tuple[str, str]]
"""A slider, its values, and the views."""
SHOWN: tuple[Shown, ...] = (
    (Slider("curl"), (-1.0, 0.4, 1.0), ("palm", "thumb")),
    (Slider("curl", "index-finger"), (-1.0, 0.5, 1.0), ("palm", "thumb")),
    (Slider("curl", "pinky-finger"), (-1.0, 0.5, 1.0), ("palm", "little")),
    (Slider("curl", "thumb"), (-1.0, 0.5, 1.0), ("palm", "tips")),
    (Slider("spread"), (-1.0, 0.0, 1.0), ("palm", "tips")),
    (Slider("spread", "thumb"), (-1.0, 0.0, 1.0), ("palm", "tips")),
    (Slider("oppose"), (-1.0, 0.5, 1.0), ("palm", "tips")),
    (Slider("cup"), (-1.0, 0.0, 1.0), ("palm", "tips")),
)
VIEWS = {
    **rig_pictures.VIEWS,
    "tips": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "little": ((0.9, 0.0, -0.3), (0.0, 1.0, 0.0)),
}


def own() -> list[rig_pictures.Hand]:
    """Return Knuckle's own right hand, alone in the scene."""
    scene = hand_pictures.empty_scene()
    measures = proportions.adult("right")
    armature = new_hand(measures, proportions.build(measures), scene.collection)[0]
    bpy.context.view_layer.update()
    return [rig_pictures.Hand(armature, found) for found in find_hands(armature)]


def row(hand: rig_pictures.Hand, shown: Shown, size: int) -> Floats:
    """Return pictures (size, 6·size, 3) of a slider on a hand with all other sliders at zero."""
    slider, values, views = shown
    rig_hand = posable_hand(hand.armature, hand.side, detection_cache.detect(hand.armature))
    sliders, before = Sliders(rig_hand.hand), rig_hand.read()
    pictures = []
    for value in values:
        angles = before.pose.angles[0]
        for each in SLIDERS:
            angles = sliders.write(angles, each, 0.0)
        _pose(rig_hand, before, sliders.write(angles, slider, value))
        pictures += [rig_pictures.tile(hand, view, size) for view in views]
    rig_hand.write(before)
    bpy.context.view_layer.update()
    return np.concatenate(pictures, axis=1)


def _pose(held: RigHand, stands: HandState, angles: Floats) -> None:
    held.write(HandState(Pose(held.hand, stands.pose.root, angles[None])))
    bpy.context.view_layer.update()


def main() -> None:
    """Write a sheet for each hand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/pictures")
    parser.add_argument("--pixels", type=int, default=150)
    parser.add_argument("--only", choices=("own", "makehuman"))
    options = parser.parse_args()
    rig_pictures.VIEWS.update(VIEWS)
    hands = {"own": own}
    if rig_pictures.CAPTURES.is_dir():
        hands["makehuman"] = lambda: rig_pictures.opened("MakeHuman")
    for name in [options.only] if options.only else hands:
        hand = next(hand for hand in hands[name]() if hand.side == "right")
        rows = [row(hand, shown, options.pixels) for shown in SHOWN]
        hand_pictures.write_picture(options.out / f"sliders-{name}.png", np.concatenate(rows))


if __name__ == "__main__":
    main()
