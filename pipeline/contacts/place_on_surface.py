"""Find the point of a surface at which a fingertip stays: one that it reaches in all frames, near to its present path.

In some of the frames the pad first moves to the surface by the least change of the hand. A finger that is straight, or
whose wrist moves, reaches the mean of these points only in some frames. So the point is moved repeatedly to the mean of
the positions reached. This converges to a point that all frames reach, if there is one (alternating projections).
"""

import numpy as np
from numpy.typing import NDArray

from ...hand.kinematics import Pose
from ...solvers.pose_problem import Objective, PoseProblem, Preferences, solve
from .flesh_problem import HOLD_POSTURE
from .held_on_surface import HeldOnSurface, SkinBySurface, sites_of_skin, to_wrist

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SAMPLE_FRAMES = 9
"""Number of frames on which points are tried."""
SLIDE_ITERATIONS, MEAN_ITERATIONS = 4, 8
"""Iterations that move the pad to the nearest surface, and that move the point to the mean of those reached."""
REACHED_DISTANCE = 1e-4
"""m, maximum distance at which a frame has reached the point."""
SURFACE_WEIGHT = 3.0
"""Weight of the path to the surface, the same as that of held points."""


def frames_to_try(count: int) -> Ints:
    """Return the frames, of F, in which points are tried, including the middle one."""
    return np.unique([*np.linspace(0, count - 1, SAMPLE_FRAMES).round().astype(int), count // 2])


def slide_to_surface(pose: Pose, skin_by_surface: SkinBySurface, free: Ints, pad: int, rows: Ints) -> Pose:
    """Return a hand in some frames, of F, with a point of its skin on a surface, at the point that is reached first.

    free: the angles that may change, as in hand.jacobians.
    """
    start = Pose.at_origin(pose.hand, pose.angles[rows])
    angles, count, to = start.angles, len(pose.hand.sites), skin_by_surface.to_surface[rows]
    for _ in range(SLIDE_ITERATIONS):
        points, on_surface = skin_by_surface.posed(rows, angles)
        nearest_points, outwards, _ = skin_by_surface.surface.nearest(on_surface[:, pad])
        sites, skin_positions = sites_of_skin(pose.hand, skin_by_surface.skin, points, np.array([pad]), angles)
        up = np.einsum("fji,fj->fi", to[:, :3, :3], outwards)
        goal = to_wrist(to, nearest_points) + skin_positions[:, 0] - points[:, pad]
        goals = [Objective(count, goal, SURFACE_WEIGHT, above=side * up) for side in (1.0, -1.0)]
        hand = pose.hand.with_sites(tuple(sites))
        angles = _solved(Pose(hand, start.root, start.angles), free, goals)
    return Pose.at_origin(pose.hand, angles)


def reachable_position(pose: Pose, skin_by_surface: SkinBySurface, free: Ints, pad: int, rows: Ints) -> Floats:
    """Return the position (3,) m on a surface that a point of the skin reaches in all frames, if there is one."""
    start, count = Pose.at_origin(pose.hand, pose.angles[rows]), len(pose)
    angles = slide_to_surface(pose, skin_by_surface, free, pad, rows).angles
    for _ in range(MEAN_ITERATIONS):
        reached = skin_by_surface.posed(rows, angles)[1][:, pad]
        position = skin_by_surface.surface.nearest(reached.mean(axis=0)[None])[0]
        if np.linalg.norm(reached - position, axis=1).max() < REACHED_DISTANCE:
            break
        hold = HeldOnSurface(skin_by_surface, np.array([pad]), position, 0, count - 1, (0, 0))
        hand, goals = hold.objectives(rows, angles)
        angles = _solved(Pose(hand, start.root, start.angles), free, goals)
    return np.asarray(position[0])


def direction_to_surface(skin_by_surface: SkinBySurface, pad: int, posed: Pose, row: int, frames_row: int) -> Floats:
    """Return the direction (3,) into the surface at a point of the skin, in the wrist's coordinates, of one frame.

    posed: the hand in some frames; `row` is frame `frames_row` of the take.
    """
    rows = np.array([frames_row])
    _, on_surface = skin_by_surface.posed(rows, posed.angles[row : row + 1])
    outwards = skin_by_surface.surface.nearest(on_surface[:, pad])[1][0]
    return np.asarray(-skin_by_surface.to_surface[frames_row, :3, :3].T @ outwards)


def _solved(start: Pose, free: Ints, goals: list[Objective]) -> Floats:
    problem = PoseProblem.of(start, free, goals, preferences=Preferences(posture=HOLD_POSTURE))
    angles: Floats = solve(problem).pose.angles
    return angles
