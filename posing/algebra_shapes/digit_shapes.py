"""One digit in the algebra: its reach, plane, joints, FABRIK's passes and limits."""

import math

import numpy as np
from numpy.typing import NDArray

from ...hand import kinematics
from ...hand.kinematics import Pose
from ...hand.model import HandModel
from ...hand.targets import Targets
from ...solvers.cga import generated as g
from ...solvers.cga.generated import Plane
from ...solvers.cga.objects import cross, line_of, pair_points, plane_through, subtract, unit
from ...solvers.conformal.cga_digit_plane import DORSAL
from ...solvers.conformal.sphere_intersection import intersect_spheres
from ...solvers.planar.driver import solve_hand
from ...solvers.planar.planar_hand import PlanarDigit
from ...solvers.planar.planar_plan import PlanarState
from ..following.digit_reach import digit_of_hand, shell_of, touch_digit
from ..following.touching import Case, spheres
from .cga_recorder import SOLVER, Log, PlaneStep, recording_steps
from .shapes import Shape, Space, Trace, arc, first_of, subscript, vector_of

Floats = NDArray[np.float64]

DRAWN_PASSES = 2
"""Number of FABRIK's passes that are shown."""
SAME_PLANE_COSINE = math.cos(math.radians(0.5))
"""Cosine of the angle between the limited plane and the one without limits below which both are shown."""
ARC_POINTS = 25
"""Points of an arc."""
CASES: dict[Case, str] = {
    "inside": "Sₜ lies inside Sₑ, every place of it would do",
    "circle": "Sₜ and Sₑ meet in the circle z",
    "tangent": "Sₜ and Sₑ touch in one place, the digit is straight",
    "outside": "Sₜ lies outside Sₑ, the target is out of reach",
    "near": "the target is too near to the first joint",
    "unknown": "there is no target",
}


class Tracer:
    """A recorded solver for one hand. Caches the solver's preparation for the hand."""

    def __init__(self, hand: HandModel) -> None:
        self.hand = hand
        self._log = Log()
        self._steps = recording_steps(self._log)
        self._states: dict[tuple[int, ...], PlanarState] = {}

    def digit(self, pose: Pose, name: str, goal: Floats | None = None, seen: Floats | None = None) -> Trace:
        """Solve a digit of a pose (one frame) for a goal (3,) m in the world of its tip, and return the shapes.

        Without a goal, it is solved for its joints' current positions: those `seen` (J, 3) m, which may be impossible
        for a hand, and the pose's where these are NaN. Raises HandError for a hand that is not five flexing digits on a
        rigid palm.
        """
        digit = digit_of_hand(self.hand, name)
        target, solved = self._solved(pose, digit, goal, seen)
        space = _space(self.hand, pose, digit)
        from_world: Floats = np.asarray(np.linalg.inv(space.matrix), float)
        frames = kinematics.joint_frames(self.hand, solved)[0]
        joints = frames[list(digit.joints), :3, 3]
        local = Space(from_world).point_to_world(np.concatenate([joints, target[None]]))
        case, reach = _reach(self.hand, pose, digit, target, space)
        shapes = [
            *reach,
            *_plane(space, digit, self._log.planes[-1], local),
            *_joints(space, digit, local),
            *_passes(space, self._log),
            *_limits(self.hand, solved, digit, frames),
        ]
        return Trace(name, _step_sentences(case, self._log), tuple(shapes))

    def solved(self, pose: Pose, name: str, goal: Floats | None = None) -> Pose:
        """Return the solution whose shapes `digit` returns."""
        return self._solved(pose, digit_of_hand(self.hand, name), goal)[1]

    def _solved(
        self, pose: Pose, digit: PlanarDigit, goal: Floats | None, seen: Floats | None = None
    ) -> tuple[Floats, Pose]:
        """Return the target (3,) m and the pose that the solver finds for it."""
        self._log.empty()
        frames = kinematics.joint_frames(self.hand, pose)[0]
        joints = (digit.joints[3],) if goal is not None else digit.joints[:0:-1]
        positions = frames[list(joints), :3, 3] if goal is None else np.asarray(goal, float)[None]
        if goal is None and seen is not None:
            positions = np.where(np.isfinite(seen[list(joints)]), seen[list(joints)], positions)
        sites = np.array([self.hand.site_index(self.hand.joints[joint]) for joint in joints])
        targets = Targets(np.zeros(1), sites, positions[None].copy(), np.ones((1, len(sites))))
        before = self._states.get(joints)
        state = PlanarState(pose.root[0], pose.angles[0], before.plan if before else None)
        solved, self._states[joints] = solve_hand(self.hand, targets, state, self._steps, SOLVER.sweeps)
        return positions[0], solved


def _space(hand: HandModel, pose: Pose, digit: PlanarDigit) -> Space:
    """Return the digit's base frame, in which it is solved."""
    mirror = np.diag([1.0 if hand.side == "right" else -1.0, 1.0, 1.0, 1.0])
    return Space(pose.root[0] @ digit.T_wrist_base @ mirror)


def _step_sentences(case: Case, log: Log) -> tuple[str, ...]:
    passes = len(log.nearest) // 2
    fabrik = (
        f"{passes} passes of FABRIK lead to it: P′ₙ₋₁ is on Σₙ, nearest to where it was"
        if passes
        else ("no pass of FABRIK is needed, the bend reaches the target in closed form")
    )
    return (
        f"Reach: {CASES[case]}",
        "Plane: Φ goes through the first joint, the target and the palm's normal, as far as abduction lets it",
        "Joints: the spheres S₁ and S₂ about the joints on both sides meet in C, and C meets Φ in the pair B",
        f"Passes: {fabrik}",
        "Limits: how far each joint may turn, and where it stands",
    )


def _reach(hand: HandModel, pose: Pose, digit: PlanarDigit, target: Floats, space: Space) -> tuple[Case, list[Shape]]:
    """Return step 1: the bounding spheres of CGA-arm 5.1 about the first joint and about the target."""
    from_wrist = np.linalg.inv(pose.root[0])
    goal = (from_wrist[:3, :3] @ target + from_wrist[:3, 3])[None]
    case = touch_digit(hand, digit.name, pose.angles[0], goal).cases[0]
    local = Space(np.asarray(np.linalg.inv(space.matrix), float)).point_to_world(target)
    reach_spheres = spheres(shell_of(hand, digit), np.array([digit.lengths[2]]), local[None])
    shapes = [
        space.point("T", 1, local),
        space.point("P₁", 1, np.zeros(3)),
        space.sphere("Sₜ", 1, first_of(reach_spheres.target)),
        space.sphere("Sₑ", 1, first_of(reach_spheres.bound)),
        space.circle("z", 1, first_of(reach_spheres.outer)),
    ]
    return case, [shape for shape in shapes if shape]


def _plane(space: Space, digit: PlanarDigit, found: PlaneStep, local: Floats) -> list[Shape]:
    """Return step 2: the plane (3.8), and if limits change it, the one without limits, faint."""
    size = 0.55 * float(digit.lengths.sum())
    middle = local[:4].mean(axis=0)
    normal = _pole(*found.found)
    middle = middle - (middle @ normal) * normal
    shapes = [
        space.plane("Φ", 2, middle, normal, size),
        space.line("n̂", 2, np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.6 * size]])),
        space.line("", 2, np.stack([np.zeros(3), np.array(found.end)])),
    ]
    unlimited = _pole(*found.unlimited)
    if unlimited @ normal < SAME_PLANE_COSINE:
        shapes.append(space.plane("Φ′", 2, middle - (middle @ unlimited) * unlimited, unlimited, size, faint=True))
    return shapes


def _pole(abduction: float, twist: float) -> Floats:
    """Return the normal (3,) of a digit's plane: Rz(abduction) · Ry(twist) · X."""
    ca, sa, ct, st = math.cos(abduction), math.sin(abduction), math.cos(twist), math.sin(twist)
    return np.array([ca * ct, sa * ct, -st])


def _joints(space: Space, digit: PlanarDigit, local: Floats) -> list[Shape]:
    """Return step 3: a joint between two known ones, (3.3)-(3.6): the middle one from the first and the last."""
    first, middle, last, tip = (vector_of(joint) for joint in local[:4])
    first_length, middle_length, last_length = (float(length) for length in digit.lengths)
    markers, lengths = (
        ((first, last), (first_length, middle_length))
        if first_length >= middle_length
        else ((last, first), (middle_length, first_length))
    )
    circle, disjoint = intersect_spheres(markers, lengths)
    plane = _plane_through(local)
    shapes = [
        Shape("chain", "", 3, space.point_to_world(local[1]), points=space.point_to_world(local[:4])),
        *(space.point(f"P{subscript(k + 1)}", 3, local[k]) for k in range(4)),
        space.sphere("S₁", 3, g.sphere(first, first_length)),
        space.sphere("S₂", 3, g.sphere(last, middle_length)),
        space.sphere("S₃", 3, g.sphere(tip, last_length), faint=True),
    ]
    found = None if disjoint else space.circle("C", 3, circle)
    if found is not None:
        shapes.append(found)
        ends = pair_points(g.meet_circle_plane(circle, plane))
        if ends.case > 0:
            present = min(ends[:2], key=lambda end: math.dist(end, middle))
            second = ends.second if present is ends.first else ends.first
            shapes.append(space.pair("B", 3, (present, second)))
    return shapes


def _plane_through(local: Floats) -> Plane[float]:
    """Return the unit plane through first, middle and last joint; if these are collinear, one through their line."""
    first, middle, last = (vector_of(joint) for joint in local[:3])
    plane = plane_through(first, middle, last)
    if g.square_plane(plane) > 0.5:
        return plane
    direction = unit(subtract(last, first), DORSAL)
    return g.plane_at(unit(cross(direction, DORSAL), DORSAL), first)


def _passes(space: Space, log: Log) -> list[Shape]:
    """Return step 4: the nearest points on spheres in FABRIK's passes, (3.10)-(3.13)."""
    if not log.nearest:
        return []
    abduction, twist = log.planes[-1].found
    ca, sa, ct, st = math.cos(abduction), math.sin(abduction), math.cos(twist), math.sin(twist)
    along, palmwards = np.array([-sa, ca, 0.0]), np.array([-ca * st, -sa * st, -ct])
    shapes: list[Shape] = []
    for number, step in enumerate(log.nearest[: 2 * DRAWN_PASSES]):
        index, faint = subscript(3 - number % 2), number >= 2
        centre, point, found = (u * along + v * palmwards for u, v in (step.centre, step.point, step.found))
        sphere = g.sphere(vector_of(centre), step.radius)
        shapes.append(space.sphere(f"Σ{index}", 4, sphere, faint=faint))
        line = line_of(g.join_line(g.up(vector_of(centre)), g.up(vector_of(point))))
        ends = pair_points(g.meet_line_sphere(line, sphere))
        if ends.case > 0:
            farther = max(ends[:2], key=lambda end: math.dist(end, found))
            shapes.append(space.line(f"l{index}", 4, np.stack([np.array(farther), found])))
            shapes.append(space.pair(f"P′{index}", 4, (found, farther), faint=faint))
    return shapes


def _limits(hand: HandModel, solved: Pose, digit: PlanarDigit, frames: Floats) -> list[Shape]:
    """Return step 5: the flexion ranges of all joints, and the abduction range of the first."""
    shapes = []
    for number, (joint, dof) in enumerate(zip(digit.joints, digit.flexions, strict=False)):
        frame, angle = frames[joint], float(solved.angles[0, dof])
        rotations = np.linspace(hand.limits[dof, 0], hand.limits[dof, 1], ARC_POINTS) - angle
        # Flexion is about -X: from +Y to -Z.
        directions = np.stack([np.zeros(ARC_POINTS), np.cos(rotations), -np.sin(rotations)], axis=-1) @ frame[:3, :3].T
        size = 0.5 * float(digit.lengths[number])
        name = f"{math.degrees(angle):.0f}°"
        shapes.append(arc(name, 5, frame[:3, 3], frame[:3, 3] + size * directions, frame[:3, 0]))
        shapes.append(_arc_marker(frame, size))
    if digit.abduction >= 0:
        base = solved.root[0] @ digit.T_wrist_base
        side = 1.0 if hand.side == "right" else -1.0
        low_end, high_end = hand.limits[digit.abduction]
        abductions = np.linspace(low_end, high_end, ARC_POINTS)
        directions = (
            np.stack([-side * np.sin(abductions), np.cos(abductions), np.zeros(ARC_POINTS)], axis=-1) @ base[:3, :3].T
        )
        size = 0.7 * float(digit.lengths[0])
        shapes.append(arc("", 5, base[:3, 3], base[:3, 3] + size * directions, base[:3, 2]))
    return shapes


def _arc_marker(frame: Floats, size: float) -> Shape:
    """Return the line that marks a joint's current angle on its arc."""
    ends = np.stack([frame[:3, 3], frame[:3, 3] + size * frame[:3, 1]])
    return Shape("line", "", 5, ends[1], points=ends)
