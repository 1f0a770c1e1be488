"""Draws the pictures of docs/explanation/cga.md: a palm joint from two spheres and a plane, and a tracked hand.

python tools/cga_pictures.py [--out docs/pictures]
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import svg
from numpy.typing import NDArray

from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS, KNUCKLES, TIPS
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import Movement
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import Targets
from knuckle.solvers.cga import generated as g
from knuckle.solvers.cga.generated import Vector
from knuckle.solvers.conformal import Cga
from knuckle.solvers.conformal.sphere_intersection import joint_position

Floats = NDArray[np.float64]
Point = tuple[float, float]

CELL = 180
SCALE = 1900.0
"""Picture units per metre, for the spheres."""
CASES = (
    (("C² > 0, B² > 0: two places,", "the one near the last is taken"), (0.034, 0.028), (0.020, 0.022)),
    (("C² = 0: the spheres touch,", "there it is"), (0.030, 0.015), (0.024, 0.016)),
    (("C² < 0: they do not meet,", "half way between them"), (0.018, 0.013), (0.024, 0.016)),
)
"""Caption; the lengths from p and q, m; the joint's position in the previous frame, m."""
PQ_DISTANCE = 0.045
"""m from p to q."""
HAND_SCALE = 2300.0
DIGIT_ANGLES = {
    "index-finger": (8, 15, 21, 14),
    "middle-finger": (2, 30, 36, 24),
    "ring-finger": (-4, 45, 51, 34),
    "pinky-finger": (-12, 55, 60, 40),
}
"""Degrees: abduction, and the flexion of MCP, PIP and DIP."""
MOVEMENTS: tuple[Movement, ...] = ("abduction", "flexion", "flexion", "flexion")
MARKERS = (KNUCKLES[0], KNUCKLES[3], "wrist", *TIPS)


def spheres() -> str:
    """Draw the palm's plane from above, with each case of the intersection as the solver handles it."""
    parts: list[str] = []
    for column, (caption, lengths, before) in enumerate(CASES):
        cell_x = CELL * (column + 0.5) * 1.3
        parts += [svg.text(cell_x, 18 + 15 * row, line) for row, line in enumerate(caption)]
        parts += _intersection((cell_x - SCALE * PQ_DISTANCE / 2, 140), lengths, before)
    page: str = svg.page("A palm joint from two markers", parts, CELL * 3.9, 240)
    return page


def _intersection(origin: Point, lengths: Point, before: Point) -> Iterator[str]:
    p, q = Vector(0.0, 0.0, 0.0), Vector(PQ_DISTANCE, 0.0, 0.0)
    palm = g.plane_at(Vector(0.0, 0.0, 1.0), p)
    solution = joint_position((p, q), lengths, palm, Vector(*before, 0.0))

    def to_picture(x: float, y: float) -> Point:
        return origin[0] + SCALE * x, origin[1] - SCALE * y

    for marker, length, name in ((p, lengths[0], "p"), (q, lengths[1], "q")):
        x, y = to_picture(marker.e1, marker.e2)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{SCALE * length:.1f}" fill="none" stroke="{svg.COLOURS[0]}"/>'
        yield dot((x, y), svg.INK)
        yield svg.text(x, y + 16, name)
    yield ring(to_picture(*before), svg.COLOURS[1])
    yield dot(to_picture(solution.e1, solution.e2), svg.COLOURS[3])


def tracked() -> str:
    """Eight markers and the 25 joints solved from them, from the back of the hand and from the thumb's side."""
    hand = build(adult("right"))
    angles = hand.neutral.copy()
    for digit, degrees in DIGIT_ANGLES.items():
        mcp, pip, dip, _ = CHAIN_JOINTS[digit]
        for joint, movement, angle in zip((mcp, mcp, pip, dip), MOVEMENTS, degrees, strict=True):
            angles[hand.dof(joint, movement)] = np.deg2rad(angle)
    truth = Pose(hand, np.eye(4)[None], angles[None])
    sites = np.array([hand.site_index(name) for name in MARKERS])
    marker_positions = kinematics.site_positions(hand, kinematics.joint_frames(hand, truth))[:, sites]
    solved, _ = Cga().solve(hand, Targets(np.zeros(1), sites, marker_positions, np.ones((1, len(sites)))))
    joints = kinematics.joint_frames(hand, solved)[0, :, :3, 3]
    parts = [svg.text(190, 18, "from the back of the hand"), svg.text(530, 18, "from the thumb's side")]
    for at, axes in (((190.0, 440.0), (0, 1)), ((335.0, 140.0), (1, 2))):
        parts += _hand(at, joints[:, axes], marker_positions[0][:, axes], hand.parents)
    page: str = svg.page("25 joints from eight markers", parts, 720, 460)
    return page


def _hand(origin: Point, joints: Floats, marker_positions: Floats, parents: Sequence[int]) -> Iterator[str]:
    def to_picture(point: Floats) -> Point:
        return origin[0] + HAND_SCALE * float(point[0]), origin[1] - HAND_SCALE * float(point[1])

    for joint, parent in enumerate(parents):
        if parent >= 0:
            yield svg.path([to_picture(joints[parent]), to_picture(joints[joint])], svg.COLOURS[0], 1.6)
    yield svg.path([to_picture(marker_positions[k]) for k in (0, 1, 2, 0)], svg.COLOURS[2], 5.0, 0.4)
    for joint in joints:
        yield dot(to_picture(joint), svg.COLOURS[0])
    for marker in marker_positions:
        yield ring(to_picture(marker), svg.COLOURS[3])
    for name, marker in zip("pqr", marker_positions, strict=False):
        x, y = to_picture(marker)
        yield svg.text(x - 12, y + 4, name)


def dot(at: Point, colour: str) -> str:
    """Return a filled dot."""
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="3" fill="{colour}"/>'


def ring(at: Point, colour: str) -> str:
    """Return a ring around a point."""
    return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="6" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def main() -> None:
    """Write both pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "pictures")
    out = parser.parse_args().out
    svg.write(out / "cga-spheres.svg", spheres())
    svg.write(out / "cga-tracked.svg", tracked())


if __name__ == "__main__":
    main()
