"""Accuracy of a solved take: the figures of the report, all computed by forward kinematics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..capture.cleaning import runs
from ..hand.joints import CHAIN_JOINTS, DIGITS, Side
from ..hand.model import HandModel
from ..hand.proportions import Proportions
from ..solvers.solver import limit_excess
from .assignment import Assignment
from .evidence.measuring import SolvedFrames, at_limit
from .plausibility import implausible_lengths
from .recipe import Recipe, to_dict
from .versions import versions

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

LIMIT_VIOLATION_TOLERANCE = 1e-6
"""rad beyond a limit that count as a violation; less is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class HandFigures:
    """The inputs of a hand's figures: F frames, T targets, J joints, D angles."""

    hand: HandModel
    sites: Ints
    """(T,) of the targets."""
    labels: tuple[str, ...]
    """(T,)"""
    errors: Floats
    """(F, T) mm, distance of each measured marker from the solved hand, NaN for the others."""
    predicted: Bools
    """(F, J) where no measured marker determines the joint."""
    limit_hits: Bools
    """(F, D) where an angle is at one of its limits."""
    beyond: Bools
    """(F, D) where an angle is beyond them."""

    @classmethod
    def of(cls, solved: SolvedFrames, labels: tuple[str, ...]) -> "HandFigures":
        """Return the inputs of the figures of solved frames."""
        hand, angles = solved.pose.hand, solved.pose.angles
        beyond = limit_excess(hand, angles) > LIMIT_VIOLATION_TOLERANCE
        limit_hits = at_limit(solved.pose)
        return cls(hand, solved.targets.sites, labels, solved.errors, solved.predicted, limit_hits, beyond)


def hand_report(figures: HandFigures) -> dict[str, Any]:
    """Compute the figures of a hand. Only measured markers count in the errors."""
    hand, predicted, errors, limit_hits = figures.hand, figures.predicted, figures.errors, figures.limit_hits
    joint_of = np.array([hand.sites[site].joint for site in figures.sites])
    fingers = {}
    for digit in DIGITS:
        joints = [hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]]
        tip = errors[:, joint_of == joints[3]]
        fingers[digit] = {
            "tip_error_mm": error_statistics(tip),
            "marker_error_mm": error_statistics(errors[:, np.isin(joint_of, joints)]),
            "predicted_frames": int(predicted[:, joints[3]].sum()),
            "predicted_spans": _spans(predicted[:, joints[3]]),
            "limit_hit_frames": int(limit_hits[:, np.isin(hand.axis_joint, joints)].any(1).sum()),
        }
    sites = [hand.sites[site] for site in figures.sites]
    worn = {
        label: {"joint": hand.joints[site.joint], "offset_m": [round(length, 6) for length in site.offset]}
        for label, site in zip(figures.labels, sites, strict=False)
    }
    return {
        "fingers": fingers,
        "markers": worn,
        "palm_error_mm": error_statistics(errors[:, [not _is_digit_joint(hand, joint) for joint in joint_of]]),
        "limit_violations": int(figures.beyond.sum()),
        "predicted_frames": int(predicted.any(1).sum()),
    }


@dataclass(frozen=True, slots=True, eq=False)
class ReportedTake:
    """The report of a take, without its problems."""

    recipe: Recipe
    format: str
    unit: str
    """Unit that was assumed for the capture's lengths."""
    rate: float
    """Hz, of the solved frames."""
    recorded_rate: float
    """Hz, of the capture."""
    frames: int
    assigned: Assignment
    hands: Mapping[Side, dict[str, Any]]
    """The figures of each hand."""
    warnings: Sequence[str]
    """About reading and cleaning."""
    guessed_fingers: Mapping[Side, Sequence[str]]
    proportions: Sequence[Proportions]
    seconds: Mapping[str, float]


def take_report(take: ReportedTake) -> dict[str, Any]:
    """Return the report of a take, JSON-ready."""
    recipe = take.recipe
    report: dict[str, Any] = {
        "capture": recipe.capture,
        "format": take.format,
        "frames": take.frames,
        "rate": take.rate,
        "solver": recipe.solver,
        "smoothing": recipe.smoothing,
        "marker_set": {"name": take.assigned.set_name, "confidence": round(take.assigned.confidence, 3)},
        "hands": dict(take.hands),
        "warnings": [*take.warnings, *take.assigned.warnings],
        "recipe": to_dict(recipe),
        "versions": versions(),
        "seconds": {name: round(value, 4) for name, value in take.seconds.items()},
    }
    report["warnings"] += filter(None, [key_rate_note(take.recorded_rate, recipe.fps)])
    report["warnings"] += [
        f"no marker on {', '.join(fingers)} of the {side} hand: guessed from the fingers beside"
        for side, fingers in take.guessed_fingers.items()
        if fingers
    ]
    doubts = [implausible_lengths(hand, take.unit) for hand in take.proportions]
    report["warnings"] += filter(None, [*doubts, rate_doubt(report)])
    for side, figures in report["hands"].items():
        report["warnings"] += accuracy_warnings(side, figures)
    return report


USUAL_RATES_HZ = (5.0, 1000.0)
"""Plausible frame rates: from a slow webcam to the fastest optical systems."""
DOUBTFUL_ERROR_MM = 8.0
"""mm, mean error of a fingertip from which something is probably wrong."""


def accuracy_warnings(side: Side, report: dict[str, Any]) -> list[str]:
    """Warnings about figures of a hand that the user should not overlook."""
    means = [finger["tip_error_mm"]["mean"] for finger in report["fingers"].values()]
    known = [mean for mean in means if mean is not None]
    if not known or max(known) < DOUBTFUL_ERROR_MM:
        return []
    held_by_limits = ", or do the rig's limits hold it back" if report.get("limited_bones") else ""
    return [
        f"the {side} hand's fingertips are up to {max(known):.0f} mm off on average: "
        f"is it this performer's hand, and are its labels right{held_by_limits}?"
    ]


def rate_doubt(report: dict[str, Any]) -> str:
    """Return a sentence about a rate at which nothing records hands; empty for a plausible one, and for one frame."""
    low, high = USUAL_RATES_HZ
    if low <= report["rate"] <= high or report["frames"] == 1:
        return ""
    return f"{report['rate']:g} Hz is an unusual rate, expected {low:g} to {high:g} Hz: are the capture's times right?"


def key_rate_note(rate: float, fps: float | None) -> str:
    """Return a sentence if keys at `fps` drop frames of a capture at `rate`, both in Hz; None keys its own frames."""
    if fps is None or rate <= 1.001 * fps:
        return ""
    return (
        f"{rate:.6g} frames a second are keyed at {fps:.6g} fps, {1 - fps / rate:.0%} of them get no key: "
        f"key the capture's frames, or set the scene to {rate:.6g} fps, to keep all"
    )


def _is_digit_joint(hand: HandModel, joint: int) -> bool:
    return any(hand.joints[joint] in CHAIN_JOINTS[digit] for digit in DIGITS)


MAX_SPANS = 1000
"""Spans in a list of a report, at most."""


def _spans(mask: Bools) -> list[list[int]]:
    """Return the first and the last frame, counted from 1, of each run of a mask (F,)."""
    _, starts, stops = runs(mask[:, None])
    spans: list[list[int]] = np.stack([starts + 1, stops], axis=1)[:MAX_SPANS].tolist()
    return spans


def error_statistics(errors: Floats) -> dict[str, float | None]:
    """Mean, 99th percentile and maximum of the finite errors; None if there are none."""
    known = errors[np.isfinite(errors)]
    if not len(known):
        return {"mean": None, "p99": None, "max": None}
    named = {"mean": known.mean(), "p99": np.quantile(known, 0.99), "max": known.max()}
    return {name: round(float(value), 4) for name, value in named.items()}
