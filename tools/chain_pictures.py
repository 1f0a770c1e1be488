"""Draws the pictures of docs/explanation/chains.md: a FABRIK pass, trees, a limit cone, and the circle of an elbow.

python tools/chain_pictures.py [--out docs/pictures]
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import svg
from numpy.typing import NDArray

from knuckle.hand import rotations as rot
from knuckle.solvers import arm as arms
from knuckle.solvers.tree import (
    RestBone,
    Skeleton,
    TreeSettings,
    chain,
    cone,
    fixed,
    from_bones,
    goals_by_name,
    solve,
    swing_twist_limits,
)

Floats = NDArray[np.float64]
Placer = Callable[[Floats], list[tuple[float, float]]]

BLUE, RED = svg.COLOURS[0], svg.COLOURS[3]
CELL = 180
"""Width and height of a panel, in picture units."""


def passes() -> str:
    """Draw a pass over a chain in a plane: before, inwards from the goal, outwards from the root."""
    before = np.array([[0.0, 0.0], [0.2, 0.8], [0.9, 1.2], [1.7, 1.1]])
    goal = np.array([2.3, 0.2])
    lengths = np.linalg.norm(np.diff(before, axis=0), axis=1)
    inwards = _laid(before[::-1], lengths[::-1], goal)[::-1]
    outwards = _laid(inwards, lengths, before[0])
    panels = (
        ("It stands", before, None),
        ("Inwards: the end on its goal", inwards, before),
        ("Outwards: the root back", outwards, inwards),
    )
    parts = []
    for column, (words, points, last) in enumerate(panels):
        to_picture = _placer(column, 68.0, (1.15, 0.55))
        parts.append(svg.text(CELL * (column + 0.5), 16, words))
        if last is not None:
            parts.append(svg.path(to_picture(last), svg.INK, 3, 0.4))
        parts += [
            svg.path(to_picture(points), BLUE, 5),
            *_dots(to_picture(points), BLUE),
            *_dots(to_picture(goal[None]), RED, 5),
        ]
    drawing: str = svg.page("A pass of FABRIK, inwards and outwards", parts, 3 * CELL, CELL)
    return drawing


def _laid(points: Floats, lengths: Floats, first: Floats) -> Floats:
    """Return the points (N, 2) with the first one moved, and each next one at its length towards its old position."""
    laid = [first]
    for point, length in zip(points[1:], lengths, strict=True):
        direction = point - laid[-1]
        laid.append(laid[-1] + length * direction / np.linalg.norm(direction))
    return np.stack(laid)


def trees() -> str:
    """Draw four solved problems from the front: the rest pose grey, goals red."""
    up = np.stack([np.zeros(9), np.arange(9.0), np.zeros(9)], -1) / 4
    tail = chain("tail", up, cone(0.5, 0.5, 0.35, 0.35, (-0.1, 0.1)))
    free = chain("free", up[:5] * 1.5)
    two = from_bones(
        [
            RestBone("trunk", None, (0, 0, 0), (0, 0.5, 0)),
            RestBone("base", "trunk", (0, 0.5, 0), (0, 1, 0)),
            RestBone("left", "base", (0, 1, 0), (-0.5, 1.4, 0)),
            RestBone("left-hand", "left", (-0.5, 1.4, 0), (-0.9, 1.8, 0)),
            RestBone("right", "base", (0, 1, 0), (0.5, 1.4, 0)),
            RestBone("right-hand", "right", (0.5, 1.4, 0), (0.9, 1.8, 0)),
        ]
    )
    ring = from_bones(
        [
            RestBone("base", None, (0, 0, 0), (0, 0.1, 0), fixed()),
            RestBone("left", "base", (-0.5, 0, 0), (-0.8, 0.8, 0)),
            RestBone("left-end", "left", (-0.8, 0.8, 0), (0, 1.5, 0)),
            RestBone("right", "base", (0.5, 0, 0), (0.8, 0.8, 0)),
            RestBone("right-end", "right", (0.8, 0.8, 0), (0, 1.5, 0)),
        ],
        loops=[("left-end-tip", "right-end-tip")],
    )
    panels = (
        ("A tail within its cones", tail, {"tail-7-tip": (0.9, 1.2, 0)}),
        ("Out of reach", free, {"free-3-tip": (1.0, 1.6, 0)}),
        ("Two ends, one sub-base", two, {"left-hand-tip": (-0.2, 1.9, 0), "right-hand-tip": (1.0, 0.6, 0)}),
        ("A closed loop", ring, {"left-end-tip": (0.5, 1.2, 0)}),
    )
    parts = []
    for column, (words, skeleton, goals) in enumerate(panels):
        to_picture = _placer(column, 70.0, (0.1, 0.95))
        goal_positions = {name: np.array([goal]) for name, goal in goals.items()}
        pose, _ = solve(skeleton, goals_by_name(skeleton, goal_positions), settings=TreeSettings(follow=False))
        parts.append(svg.text(CELL * (column + 0.5), 16, words))
        parts += [svg.path(to_picture(bone), svg.INK, 3, 0.4) for bone in _bones(skeleton, _rest(skeleton))]
        parts += [svg.path(to_picture(bone), BLUE, 5) for bone in _bones(skeleton, pose.positions[0])]
        parts += _dots(to_picture(pose.positions[0, :, :2]), BLUE)
        for goal in goal_positions.values():
            parts += _dots(to_picture(goal[:, :2]), RED, 5)
    drawing: str = svg.page("Chains and trees that were solved", parts, len(panels) * CELL, CELL)
    return drawing


def _rest(skeleton: Skeleton) -> Floats:
    """Return the joint positions (J, 3) at rest."""
    nothing, _ = solve(skeleton, goals_by_name(skeleton, {}, root=np.eye(4)[None]))
    positions: Floats = nothing.positions[0]
    return positions


def _bones(skeleton: Skeleton, points: Floats) -> list[Floats]:
    """Return each bone's ends (2, 2), seen from the front."""
    return [points[[parent, joint], :2] for joint, parent in enumerate(skeleton.parents) if parent >= 0]


def cones() -> str:
    """Draw an irregular cone in the angles of the swing: four quarter ellipses, and swings outside clamped to it."""
    widths = np.deg2rad([90.0, 30.0, 25.0, 55.0])
    around = np.linspace(0, 2 * np.pi, 181)
    edge = np.stack([np.cos(around), np.sin(around)], -1)
    edge = edge * np.where(edge >= 0, widths[:2], widths[2:])
    outside = np.deg2rad([[100.0, 40.0], [60.0, -70.0], [-60.0, -40.0], [-50.0, 30.0], [30.0, 60.0]])
    inside = swing_twist_limits.clamp_swing(widths, outside)
    to_picture = _placer(0, 60.0, (-0.55, 0.0))
    axes = (np.array([[-1.2, 0.0], [2.1, 0.0]]), np.array([[0.0, -1.3], [0.0, 1.3]]))
    parts = [svg.path(to_picture(ends), svg.INK, 1) for ends in axes]
    parts.append(svg.path(to_picture(edge), BLUE, 3))
    for angle, at in ((90, (1.8, -0.16)), (30, (-0.25, 0.6)), (25, (-0.7, 0.1)), (55, (-0.25, -1.12))):
        parts.append(svg.text(*to_picture(np.array([at]))[0], f"{angle}°"))
    for pair in np.stack([outside, inside], 1):
        parts += [
            svg.path(to_picture(pair), svg.INK, 1.5),
            *_dots(to_picture(pair[:1]), svg.INK),
            *_dots(to_picture(pair[1:]), RED),
        ]
    drawing: str = svg.page("An irregular cone, in the angles of the swing", parts, 1.7 * CELL, CELL)
    return drawing


def swivel() -> str:
    """Draw an arm with a fixed wrist: the circle of its elbow, and the arm at some swivels, from two sides."""
    arm = arms.Arm(0.30, 0.25)
    wrist = np.tile(np.eye(4), (61, 1, 1))
    wrist[:, :3, 3] = [0.05, 0.3, 0.25]
    axis = wrist[0, :3, 3] / np.linalg.norm(wrist[0, :3, 3])
    ring = np.linspace(-np.pi, np.pi, 61)
    solver_poses, _ = arms.solve(arm, wrist[:1], np.zeros(3))
    elbow = arms.frames(arm, solver_poses, np.zeros(3))[0, 1, :3, 3]
    poles = rot.rotate(rot.from_axis_angle(axis, ring), elbow)
    pose, _ = arms.solve(arm, wrist, np.zeros(3), pole=poles)
    points = arms.frames(arm, pose, np.zeros(3))[..., :3, 3]
    parts = []
    for column, (words, across) in enumerate((("From the side", 2), ("From before", 0))):
        to_picture = _placer(column, 270.0, (0.12 if across == 2 else 0.02, -0.17))
        projected = points[..., [across, 1]] * [1, -1]
        parts.append(svg.text(CELL * (column + 0.5), 16, words))
        parts.append(svg.path(to_picture(projected[:, 1]), svg.INK, 1.5))
        parts += [svg.path(to_picture(projected[k]), svg.INK, 2.5, 0.4) for k in range(0, 60, 10)]
        parts += [
            svg.path(to_picture(projected[30]), BLUE, 5),
            *_dots(to_picture(projected[30, :2]), BLUE),
            *_dots(to_picture(projected[30, 2:]), RED),
        ]
    drawing: str = svg.page("An arm's elbow on its circle", parts, 2 * CELL, CELL)
    return drawing


def _placer(column: int, scale: float, middle: tuple[float, float]) -> Placer:
    """Return a function that maps positions (N, 2), y up, to the picture, with `middle` in the middle of the column."""
    left, top = CELL * (column + 0.5), CELL * 0.5 + 8

    def placed(points: Floats) -> list[tuple[float, float]]:
        return [(left + scale * (x - middle[0]), top - scale * (y - middle[1])) for x, y in points.tolist()]

    return placed


def _dots(points: Sequence[tuple[float, float]], colour: str, radius: float = 4) -> list[str]:
    return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{colour}"/>' for x, y in points]


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "pictures")
    out = parser.parse_args().out
    for name, drawing in (("pass", passes()), ("trees", trees()), ("cone", cones()), ("swivel", swivel())):
        svg.write(out / f"chains-{name}.svg", drawing)


if __name__ == "__main__":
    main()
