"""Assigning markers to a hand one after another, in the order in which a picture of the hand lists them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from . import kinematics
from .joints import CHAIN_JOINTS, DIGITS, Side
from .kinematics import Pose
from .marker_sets import Groups, Spot
from .proportions import adult, build

Floats = NDArray[np.float64]

_BACK_HEIGHT_M = 0.022
"""m from the bones to a marker on the back of the hand."""


@dataclass(frozen=True, slots=True)
class Step:
    """A position on the hand for which the user picks a marker."""

    words: str
    """Its name for display: 'the tip of the index finger'."""
    spot: Spot


def _list_steps() -> tuple[Step, ...]:
    names = dict(zip(DIGITS, ("thumb", "index finger", "middle finger", "ring finger", "little finger"), strict=True))
    fingers = DIGITS[1:]
    chain = CHAIN_JOINTS
    return (
        Step("the wrist", Spot("wrist")),
        *(Step(f"the knuckle of the {names[digit]}", Spot(chain[digit][0])) for digit in fingers),
        *(Step(f"the tip of the {names[digit]}", Spot(chain[digit][3])) for digit in DIGITS),
        *(Step(f"the middle joint of the {names[digit]}", Spot(chain[digit][1])) for digit in fingers),
        *(Step(f"the last joint of the {names[digit]}", Spot(chain[digit][2])) for digit in DIGITS),
        Step("the knuckle of the thumb", Spot(chain["thumb"][1])),
        Step("the base of the thumb, at the wrist", Spot(chain["thumb"][0])),
        Step("the back of the hand, behind the ring finger", Spot("wrist", (0.016, 0.062, _BACK_HEIGHT_M))),
        Step("the back of the hand, near the wrist", Spot("wrist", (0.016, 0.030, _BACK_HEIGHT_M))),
        Step("the back of the hand, behind the index finger", Spot("wrist", (-0.012, 0.046, _BACK_HEIGHT_M))),
    )


STEPS = _list_steps()
"""Ordered by importance: first the palm, then the fingertips."""


@dataclass(frozen=True, slots=True)
class MarkerAssignment:
    """The markers assigned to one hand, and the current step."""

    side: Side
    assigned: Mapping[int, tuple[str, Spot]] = field(default_factory=dict)
    """Step -> label and its spot, which differs from the step's spot if a guess had a better one."""
    extra_markers: Mapping[str, Spot] = field(default_factory=dict)
    """Markers of a guess that belong to no step: label -> spot."""
    step_index: int = 0
    """Index of the current step in STEPS; len(STEPS) after the last."""

    @property
    def step(self) -> Step | None:
        """The current step; None after the last."""
        return STEPS[self.step_index] if self.step_index < len(STEPS) else None

    @property
    def label(self) -> str:
        """The label at the current step; empty if there is none."""
        return self.assigned.get(self.step_index, ("", None))[0]

    def assign(self, label: str) -> "MarkerAssignment":
        """Return the assignment with this marker at the current step only, advanced to the next step."""
        if self.step is None:
            return self
        if label == self.label:
            return self.keep()
        freed = self.without(label)
        return replace(
            freed, assigned={**freed.assigned, self.step_index: (label, self.step.spot)}, step_index=self.step_index + 1
        )

    def without(self, label: str) -> "MarkerAssignment":
        """Return the assignment without this marker."""
        assigned = {step: entry for step, entry in self.assigned.items() if entry[0] != label}
        return replace(
            self,
            assigned=assigned,
            extra_markers={name: spot for name, spot in self.extra_markers.items() if name != label},
        )

    def keep(self) -> "MarkerAssignment":
        """Return the assignment at the next step, without a change of its markers."""
        return replace(self, step_index=min(self.step_index + 1, len(STEPS)))

    def skip(self) -> "MarkerAssignment":
        """Return the assignment at the next step, without a marker at this one."""
        return replace(
            self, assigned={step: entry for step, entry in self.assigned.items() if step != self.step_index}
        ).keep()

    def back(self) -> "MarkerAssignment":
        """Return the assignment at the previous step, without a change of its markers."""
        return replace(self, step_index=max(self.step_index - 1, 0))

    @property
    def spots(self) -> dict[str, Spot]:
        """The hand's part of a marker map: label -> spot, each spot once."""
        spots = {label: spot for _, (label, spot) in sorted(self.assigned.items())}
        return spots | {label: spot for label, spot in self.extra_markers.items() if spot not in spots.values()}


def start_assignment(side: Side, guess: Mapping[str, Spot]) -> MarkerAssignment:
    """Start from a guess: label -> spot. Each marker is assigned to the nearest free step on its joint."""
    assigned: dict[int, tuple[str, Spot]] = {}
    extra_markers: dict[str, Spot] = {}
    for label, spot in guess.items():
        free = [i for i, step in enumerate(STEPS) if i not in assigned and step.spot.joint == spot.joint]
        free = [i for i in free if any(STEPS[i].spot.offset) == any(spot.offset)]
        if not free:
            extra_markers[label] = spot
            continue
        distances = [float(np.linalg.norm(np.subtract(STEPS[i].spot.offset, spot.offset))) for i in free]
        assigned[free[int(np.argmin(distances))]] = (label, spot)
    return MarkerAssignment(side, assigned, extra_markers)


def combine(hands: Mapping[Side, MarkerAssignment], minimum: int) -> Groups:
    """Return the marker map of the hands that have at least the given number of markers."""
    return {side: hand.spots for side, hand in hands.items() if len(hand.spots) >= minimum}


@cache
def step_positions(side: Side) -> Floats:
    """Return the positions (S, 3) m of the steps on a flat hand of mean size, in the wrist's frame."""
    hand = build(adult(side))
    pose = Pose(hand, np.eye(4)[None], np.zeros((1, len(hand.movements))))
    frames = kinematics.joint_frames(hand, pose)[0]
    points = []
    for step in STEPS:
        frame = frames[hand.joints.index(step.spot.joint)]
        points.append(frame[:3, :3] @ np.array(step.spot.offset_on(side)) + frame[:3, 3])
    result: Floats = np.array(points)
    result.setflags(write=False)
    return result
