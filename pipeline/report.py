"""The report of a solved take: its accuracy, computed by forward kinematics, and warnings."""

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
PLAUSIBLE_RATES_HZ = (5.0, 1000.0)
"""Plausible frame rates: from a slow webcam to the fastest optical systems."""
DOUBTFUL_ERROR_MM = 8.0
"""Mean error of a fingertip above which something is probably wrong."""
MAX_SPANS = 1000
"""Maximum number of spans in a list of a report."""


@dataclass(frozen=True, slots=True, eq=False)
class HandReportInputs:
    """What the figures of a hand are computed from: F frames, T targets, J joints, D angles."""

    hand: HandModel
    sites: Ints
    """(T,) the site of each target."""
    labels: tuple[str, ...]
    """(T,) the label of each target."""
    errors: Floats
    """(F, T) mm, distance of each measured marker from the solved hand; NaN where it was not measured."""
    predicted: Bools
    """(F, J) whether no measured marker determines the joint."""
    limit_hits: Bools
    """(F, D) whether an angle is at one of its limits."""
    beyond: Bools
    """(F, D) whether an angle is beyond its limits."""

    @classmethod
    def of(cls, solved: SolvedFrames, labels: tuple[str, ...]) -> "HandReportInputs":
        """Return the inputs from solved frames."""
        hand, angles = solved.pose.hand, solved.pose.angles
        beyond = limit_excess(hand, angles) > LIMIT_VIOLATION_TOLERANCE
        limit_hits = at_limit(solved.pose)
        return cls(hand, solved.targets.sites, labels, solved.errors, solved.predicted, limit_hits, beyond)


def hand_report(inputs: HandReportInputs) -> dict[str, Any]:
    """Return the figures of a hand, JSON-ready. Only measured markers count in the errors."""
    hand, predicted, errors, limit_hits = inputs.hand, inputs.predicted, inputs.errors, inputs.limit_hits
    joint_of = np.array([hand.sites[site].joint for site in inputs.sites])
    fingers = {}
    for digit in DIGITS:
        joints = [hand.joints.index(joint) for joint in CHAIN_JOINTS[digit]]
        tip = joints[-1]
        fingers[digit] = {
            "tip_error_mm": error_statistics(errors[:, joint_of == tip]),
            "marker_error_mm": error_statistics(errors[:, np.isin(joint_of, joints)]),
            "predicted_frames": int(predicted[:, tip].sum()),
            "predicted_spans": _spans(predicted[:, tip]),
            "limit_hit_frames": int(limit_hits[:, np.isin(hand.axis_joint, joints)].any(1).sum()),
        }
    sites = [hand.sites[site] for site in inputs.sites]
    markers = {
        label: {"joint": hand.joints[site.joint], "offset_m": [round(length, 6) for length in site.offset]}
        for label, site in zip(inputs.labels, sites, strict=False)
    }
    return {
        "fingers": fingers,
        "markers": markers,
        "palm_error_mm": error_statistics(errors[:, [not _is_digit_joint(hand, joint) for joint in joint_of]]),
        "limit_violations": int(inputs.beyond.sum()),
        "predicted_frames": int(predicted.any(1).sum()),
    }


@dataclass(frozen=True, slots=True, eq=False)
class TakeReportInputs:
    """What the report of a take is made from; problems are added later."""

    recipe: Recipe
    format: str
    unit: str
    """Unit that was assumed for the capture's lengths."""
    rate: float
    """Hz, of the solved frames."""
    recorded_rate: float
    """Hz, of the capture."""
    frames: int
    """Number of solved frames."""
    assigned: Assignment
    hands: Mapping[Side, dict[str, Any]]
    """The figures of each hand."""
    warnings: Sequence[str]
    """Warnings about reading and cleaning the capture."""
    guessed_fingers: Mapping[Side, Sequence[str]]
    """Fingers of each hand that have no marker."""
    proportions: Sequence[Proportions]
    """Of each hand."""
    seconds: Mapping[str, float]
    """Step -> its time."""


def take_report(take: TakeReportInputs) -> dict[str, Any]:
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
    report["warnings"] += filter(None, [key_rate_warning(take.recorded_rate, recipe.fps)])
    report["warnings"] += [
        f"no marker on {', '.join(fingers)} of the {side} hand: guessed from the neighbouring fingers"
        for side, fingers in take.guessed_fingers.items()
        if fingers
    ]
    length_warnings = [implausible_lengths(hand, take.unit) for hand in take.proportions]
    report["warnings"] += filter(None, [*length_warnings, rate_warning(report)])
    for side, figures in report["hands"].items():
        report["warnings"] += accuracy_warnings(side, figures)
    return report


def accuracy_warnings(side: Side, report: dict[str, Any]) -> list[str]:
    """Return warnings about a hand's figures, see `hand_report`, that the user should not overlook."""
    means = [finger["tip_error_mm"]["mean"] for finger in report["fingers"].values()]
    known_means = [mean for mean in means if mean is not None]
    if not known_means or max(known_means) < DOUBTFUL_ERROR_MM:
        return []
    # The solve adds limited_bones if the rig has limits.
    limits_question = ", or do the rig's limits restrict it" if report.get("limited_bones") else ""
    return [
        f"the {side} hand's fingertips are up to {max(known_means):.0f} mm off on average: "
        f"is this the performer's hand, are its labels right{limits_question}?"
    ]


def rate_warning(report: dict[str, Any]) -> str:
    """Return a warning about an implausible frame rate; empty if it is plausible, or if there is only one frame."""
    low, high = PLAUSIBLE_RATES_HZ
    if low <= report["rate"] <= high or report["frames"] == 1:
        return ""
    return f"{report['rate']:g} Hz is an unusual rate, expected {low:g} to {high:g} Hz: are the capture's times right?"


def key_rate_warning(rate: float, fps: float | None) -> str:
    """Return a warning if keys at `fps` drop frames of a capture at `rate`, both in Hz; otherwise it is empty.

    fps: None if every frame of the capture gets a key.
    """
    if fps is None or rate <= 1.001 * fps:
        return ""
    return (
        f"keys at {fps:.6g} fps drop {1 - fps / rate:.0%} of the capture's {rate:.6g} frames per second: "
        f"to keep them all, key the capture's frames or set the scene to {rate:.6g} fps"
    )


def _is_digit_joint(hand: HandModel, joint: int) -> bool:
    return any(hand.joints[joint] in CHAIN_JOINTS[digit] for digit in DIGITS)


def _spans(mask: Bools) -> list[list[int]]:
    """Return [first, last] frame, counted from 1, of each run of true values in a mask (F,)."""
    _, starts, stops = runs(mask[:, None])
    spans: list[list[int]] = np.stack([starts + 1, stops], axis=1)[:MAX_SPANS].tolist()
    return spans


def error_statistics(errors: Floats) -> dict[str, float | None]:
    """Return mean, 99th percentile and maximum of the finite errors; None for each if there are none."""
    finite_errors = errors[np.isfinite(errors)]
    if not len(finite_errors):
        return {"mean": None, "p99": None, "max": None}
    named = {"mean": finite_errors.mean(), "p99": np.quantile(finite_errors, 0.99), "max": finite_errors.max()}
    return {name: round(float(value), 4) for name, value in named.items()}
