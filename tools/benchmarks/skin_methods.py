"""How a clip of markers is solved: `knuckle solve` as it is installed, with and without a calibrated performer."""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from skin_takes import Clip, write_trc

from knuckle.capture.cleaning import clean
from knuckle.errors import KnuckleError
from knuckle.hand.joints import JOINT_INDEX
from knuckle.hand.kinematics import joint_frames
from knuckle.hand.measured_hand import MeasuredHand
from knuckle.pipeline import assignment, calibration, job, performer
from knuckle.pipeline.calibration_choices import CalibrationChoices
from knuckle.pipeline.performer import Performer
from knuckle.pipeline.recipe import Recipe

Floats = NDArray[np.float64]


class WrongSideError(KnuckleError):
    """A clip was solved as the other hand."""


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A clip of F frames, solved."""

    labels: tuple[str, ...]
    """(L,) labels of the hand's markers, including left-out ones."""
    carried: Floats
    """(F, L, 3) m, the markers' positions on the solved hand."""
    frames: Floats
    """(F, 25, 4, 4) T_world_joint."""
    angles: Floats
    """(F, D) rad"""
    limits: Floats
    """(D, 2) rad"""
    seconds: float
    """s for all frames, without reading and fitting."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A performer fitted by a method."""

    performer: Any
    """Calibration for the method's `solve`, as `calibrate` saves it; None measures each clip on its own."""
    seconds: float = 0.0


class Method(Protocol):
    """A method that solves clips."""

    @property
    def name(self) -> str:
        """Name in the tables."""
        ...

    def fit(self, takes: Sequence[Clip]) -> Fitted:
        """Return the performer fitted to takes. Raises KnuckleError."""
        ...

    def solve(self, clip: Clip, fitted: Fitted, complete: Clip) -> Solved:
        """Solve the clip; `complete` is the same clip with all its markers, the same object where none is left out.

        Raises KnuckleError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Default:
    """`knuckle solve` without a performer: each clip measures its own hand."""

    name: str
    recipe: dict[str, Any] = field(default_factory=dict)
    """Changes to the default recipe."""

    def fit(self, takes: Sequence[Clip]) -> Fitted:
        """Return a performer without a calibration."""
        return Fitted(None)

    def solve(self, clip: Clip, fitted: Fitted, complete: Clip) -> Solved:
        """See Method. A marker that is left out is measured with the others on the complete clip."""
        with tempfile.TemporaryDirectory() as folder:
            path = _written(clip, folder, "clip.trc")
            person = fitted.performer
            if person is None and clip is not complete:
                person = _measured_on(complete)
            recipe = Recipe(str(path), performer=person, **self.recipe)
            take = job.run(recipe)
            performer_hand = _measured(recipe) if person is None else performer.from_dict(person, "performer")
        (hand,) = take.hands
        if hand.side != clip.side:
            raise WrongSideError(f"{clip.name}: solved as a {hand.side} hand")
        frames = joint_frames(hand.hand, hand.pose)
        if hand.side not in performer_hand.hands:
            raise WrongSideError(f"{clip.name}: measured as the other hand")
        labels, carried = _carried(performer_hand.hands[hand.side], frames, hand.pose.angles)
        seconds = take.report["seconds"]["solve"]
        return Solved(labels, carried, frames, hand.pose.angles, hand.hand.limits, seconds)


@dataclass(frozen=True, slots=True)
class Calibrated(Default):
    """`knuckle solve --performer` with the calibration of the first take by `knuckle calibrate`."""

    def fit(self, takes: Sequence[Clip]) -> Fitted:
        """See Method."""
        return _calibrated(takes[0])


@lru_cache(maxsize=12)
def _calibrated(take: Clip) -> Fitted:
    """Return the calibration of a take by `knuckle calibrate`, from which several methods start."""
    with tempfile.TemporaryDirectory() as folder:
        path = _written(take, folder, "motion.trc")
        start = time.perf_counter()
        person = calibration.run(Recipe(str(path)), CalibrationChoices())
        return Fitted(performer.to_dict(person), time.perf_counter() - start)


def _carried(performer_hand: MeasuredHand, frames: Floats, angles: Floats) -> tuple[tuple[str, ...], Floats]:
    """Return labels (L,), and where a hand with joints at frames (F, 25, 4, 4) and angles (F, D) has them (F, L, 3).

    Skin carries a marker along as the joints at both ends of its bone flex, where that was fitted.
    """
    side, spots = (
        performer_hand.proportions.side,
        performer_hand.spots if performer_hand.skin_fit is None else performer_hand.skin_fit.spots(),
    )
    skin, labels, positions = performer_hand.skin_fit, tuple(spots), []
    slid = np.zeros((len(frames), len(labels), 3))
    if skin is not None:
        slid = skin.offsets_at(angles) - skin.offsets_at(skin.poses.mean)
    for number, spot in enumerate(spots.values()):
        offset = spot.offset + slid[:, number]
        offset = offset * ([1, 1, 1] if side == "right" else [-1, 1, 1])
        joint_frames = frames[:, JOINT_INDEX[spot.joint]]
        positions.append(np.einsum("fij,fj->fi", joint_frames[:, :3, :3], offset) + joint_frames[:, :3, 3])
    return labels, np.stack(positions, axis=1)


def _written(clip: Clip, folder: str, name: str) -> Path:
    path = Path(folder) / name
    write_trc(clip, path)
    return path


@lru_cache(maxsize=12)
def _measured_on(clip: Clip) -> dict[str, Any]:
    """Return the performer as `knuckle solve` measures them on a clip."""
    with tempfile.TemporaryDirectory() as folder:
        return performer.to_dict(_measured(Recipe(str(_written(clip, folder, "complete.trc")))))


def _measured(recipe: Recipe) -> Performer:
    """Return the hand as the pipeline measures it on a capture."""
    raw = assignment.label_markers(recipe, assignment.read(recipe)).markers
    assigned = assignment.assign_hands(recipe, raw)
    return assignment.measure_performer(recipe, clean(raw, recipe.cleaning), assigned)[0]
