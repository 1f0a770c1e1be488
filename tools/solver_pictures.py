"""Draws the picture of docs/how-to/solvers.md: every solver on the same targets, an index finger from its side.

python tools/solver_pictures.py [--out docs/pictures]
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import svg
from numpy.typing import NDArray

from knuckle.hand import kinematics
from knuckle.hand.joints import CHAIN_JOINTS, KNUCKLES
from knuckle.hand.kinematics import Pose
from knuckle.hand.model import HandModel
from knuckle.hand.proportions import adult, build
from knuckle.hand.targets import Targets
from knuckle.solvers import SOLVERS

Floats = NDArray[np.float64]

FINGER = CHAIN_JOINTS["index-finger"]
PALM = ("wrist", *KNUCKLES)
CELL = 118
SCALE = 850.0
"""Picture units per metre."""
NOISE = 0.001
"""m, the standard deviation along each axis."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A test case: the visible markers of a finger, a caption, and the markers' errors."""

    words: tuple[str, str]
    bent: tuple[float, float, float]
    """Flexion of MCP, PIP and DIP, degrees."""
    joints: tuple[str, ...]
    """Joints with markers, in addition to the palm's."""
    moved: Callable[[Floats], Floats]
    """Function that adds the errors to marker positions (F, T, 3) m."""
    frames: int = 1


def _keep(positions: Floats) -> Floats:
    return positions


def _pull_tip(positions: Floats) -> Floats:
    """Return the tip 5 cm further out."""
    pulled = positions.copy()
    pulled[:, -1, 1:] += [0.05, 0.02]
    return pulled


def _lift_tip(positions: Floats) -> Floats:
    """Return the tip above the back of the hand."""
    lifted = positions.copy()
    lifted[:, -1, 1:] += [-0.045, 0.06]
    return lifted


def _add_noise(positions: Floats) -> Floats:
    return positions + np.random.default_rng(3).normal(0.0, NOISE, positions.shape)


SITUATIONS = (
    Situation(("Only the tip,", "DIP as PIP tells"), (30, 60, 40), FINGER[3:], _keep),
    Situation(("Only the tip,", "DIP held straight"), (30, 60, 0), FINGER[3:], _keep),
    Situation(("All joints,", "DIP held straight"), (30, 60, 0), FINGER[1:], _keep),
    Situation(("The tip is", "out of reach"), (20, 30, 20), FINGER[3:], _pull_tip),
    Situation(("The tip is where", "no finger bends"), (10, 20, 13), FINGER[3:], _lift_tip),
    Situation(("The tip, 1 mm of", "noise, 40 frames"), (30, 60, 40), FINGER[3:], _add_noise, 40),
)


def draw() -> str:
    """Draw a column for each situation and a row for each solver: truth grey, solution coloured, markers as circles."""
    hand = build(adult("right"))
    left, top = 92, 44
    width, height = left + CELL * len(SITUATIONS), top + CELL * len(SOLVERS)
    parts = []
    for column, situation in enumerate(SITUATIONS):
        middle = left + CELL * (column + 0.5)
        parts += [svg.text(middle, 16 + 15 * line, words) for line, words in enumerate(situation.words)]
        truth, targets = _targets(hand, situation)
        for row, name in enumerate(SOLVERS):
            solved, _ = SOLVERS[name]().solve(hand, targets)
            marker_pixels = (left + CELL * column, top + CELL * row)
            parts += _cell(
                marker_pixels, _side(hand, truth), _side(hand, solved), targets.positions[:, len(PALM) :, 1:]
            )
    for row, name in enumerate(SOLVERS):
        parts.append(svg.text(left - 8, top + CELL * (row + 0.5), name, "end"))
    page: str = svg.page("An index finger from its side, solved by each solver", parts, width, height)
    return page


def _targets(hand: HandModel, situation: Situation) -> tuple[Pose, Targets]:
    """Return the true pose and its targets."""
    angles = hand.neutral.copy()
    for joint, degrees in zip(FINGER, situation.bent, strict=False):
        dof = hand.dof(joint, "flexion")
        assert dof is not None
        angles[dof] = np.deg2rad(degrees)
    frames = situation.frames
    pose = Pose(hand, np.tile(np.eye(4), (frames, 1, 1)), np.tile(angles, (frames, 1)))
    sites = np.array([hand.site_index(joint) for joint in (*PALM, *situation.joints)])
    positions = kinematics.site_positions(hand, kinematics.joint_frames(hand, pose))[:, sites]
    positions[:, len(PALM) :] = situation.moved(positions[:, len(PALM) :])
    return pose, Targets(np.arange(frames) / 100, sites, positions, np.ones(positions.shape[:2]))


def _side(hand: HandModel, pose: Pose) -> Floats:
    """Return (F, 4, 2) m of the finger's joints, along the hand and out of its back."""
    joints = [hand.joints.index(joint) for joint in FINGER]
    positions: Floats = kinematics.joint_frames(hand, pose)[:, joints][:, :, 1:3, 3]
    return positions


def _cell(at: tuple[float, float], truth: Floats, solved: Floats, seen: Floats) -> Iterator[str]:
    origin = truth[0, 0]

    def placed(point: Floats) -> tuple[float, float]:
        x, y = SCALE * (point - origin)
        return at[0] + 14 + x, at[1] + 34 - y

    yield svg.path([placed(p) for p in truth[0]], svg.INK, 6.0, 0.45)
    for frame in solved:
        yield svg.path([placed(p) for p in frame], svg.COLOURS[0], 1.4 if len(solved) == 1 else 0.6)
    for point in seen.reshape(-1, 2):
        x, y = placed(point)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="none" stroke="{svg.COLOURS[3]}"/>'


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parents[1] / "docs" / "pictures")
    svg.write(parser.parse_args().out / "solvers.svg", draw())


if __name__ == "__main__":
    main()
