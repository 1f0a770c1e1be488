"""Makes the picture of docs/how-to/contacts.md: a pinch with digits that intersect and kept apart, and one that a
larger hand with a long thumb leaves open and holds.

    python tools/contact_pictures.py
"""

from dataclasses import replace
from pathlib import Path

import hand_pictures
import numpy as np

hand_pictures.load_package()

from knuckle.hand import poses  # noqa: E402
from knuckle.hand.flesh import Flesh  # noqa: E402
from knuckle.hand.generators import run_to_end  # noqa: E402
from knuckle.hand.joints import DIGITS  # noqa: E402
from knuckle.hand.kinematics import Pose  # noqa: E402
from knuckle.hand.proportions import Proportions, adult, build  # noqa: E402
from knuckle.pipeline.contacts.find_contacts import find_contacts  # noqa: E402
from knuckle.pipeline.contacts.flesh_depths import pair_depths  # noqa: E402
from knuckle.pipeline.contacts.hold_contacts import hold_contacts  # noqa: E402
from knuckle.pipeline.contacts.settling import settle  # noqa: E402
from knuckle.rig.default_hand import add_hand  # noqa: E402
from knuckle.solvers.pose_problem import angles_of  # noqa: E402

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "contacts.png"
SHAPE = np.array([1.3, 1.05, 1.0, 0.95, 0.9])[:, None]
"""Factors on the bone lengths of the larger hand's digits."""
TIMES = np.arange(20) / 60
PIXELS = 420


def main() -> None:
    """Write the picture: a column each for before and after."""
    measures = adult("right")
    performer = build(measures)
    free = angles_of(performer, DIGITS)
    pinch = poses.angles(performer, "pinch")
    deep = pinch.copy()
    deep[performer.dof("index-finger-phalanx-proximal", "flexion")] += np.deg2rad(9)
    through = still(deep, measures)
    apart = run_to_end(settle(through, TIMES, Flesh.of(performer), free))
    large = replace(measures, phalanges=measures.phalanges * SHAPE).scaled(1.2)
    opened = still(pinch, large)
    flesh = Flesh.of(opened.hand)
    closing, own = still(pinch, measures), Flesh.of(performer)
    contacts = find_contacts(closing, TIMES, own, pair_depths(own, performer, closing.angles))
    solution = hold_contacts(opened, TIMES, flesh, free, contacts)
    closed = run_to_end(settle(opened, TIMES, flesh, free, solution))
    columns = ((measures, through), (measures, apart), (large, opened), (large, closed))
    hand_pictures.write_picture(PICTURE, np.concatenate([shot(*column) for column in columns], axis=1))


def still(angles: hand_pictures.Floats, measures: Proportions) -> Pose:
    """Return a hand that keeps its pose."""
    return Pose.at_origin(build(measures), np.tile(angles, (len(TIMES), 1)))


def shot(measures: Proportions, pose: Pose) -> hand_pictures.Floats:
    """Return the middle frame (2 · PIXELS, PIXELS, 3) of a hand from two sides."""
    scene = hand_pictures.empty_scene()
    armature = add_hand(measures, "Hand", scene.collection)
    hand_pictures.pose_hand(armature, pose.rotations[len(pose) // 2])
    points = hand_pictures.skin_points(armature.children[0])
    return np.concatenate(
        [hand_pictures.render_view(scene, points, view, PIXELS, np.eye(3)) for view in ("thumb", "tips")]
    )


if __name__ == "__main__":
    main()
