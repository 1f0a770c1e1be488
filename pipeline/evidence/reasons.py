"""Describe problems in words: what is wrong with the pose, for how many frames, and which fault of the markers explains
it."""

from collections.abc import Sequence

from ...hand.joints import Side, digit_label
from .evidence import PARTS

EFFECTS = {
    "tip_error": "{part}tip {value:.0f} mm off",
    "marker_error": "{part} marker {value:.0f} mm off",
    "marker_leap": "{part} marker jumped {value:.0f} mm",
    "joint_leap": "{part} rotated {value:.0f} degrees while its markers were still",
    "label_doubt": "{part} label wrong with a probability of {value:.0%}",
    "corrected": "{part} marker corrected",
    "unseen": "{part} marker not seen",
}
"""Measure -> symptom in a sentence; `value` is in the measure's unit."""
CAUSES = {
    "corrected": "labels were swapped, or positions left the marker's path",
    "label_doubt": "labels may be swapped",
    "unseen": "marker not seen",
    "marker_leap": "marker jumped",
    "joint_leap": "a joint rotated while its markers were still",
    "at_limit": "a joint is at its limit",
}
"""Measure -> why the pose may be off, the most likely first."""
TYPICAL = "usual in this take"
"""Cause of a lasting error that is no larger than in the rest of the take."""
LIMIT_ADVICE = (
    "the {side} hand's {parts} {is_} off where a joint is at its limit: check where its markers sit (marker map, "
    "Markers On), or widen the joint's range with limits_deg in the performer's file{rig}"
)


def reason(
    parts: Sequence[str], frames: int, measure: str, value: float, measures: Sequence[str], *, lasting: bool = False
) -> str:
    """Return a reason like "ring fingertip 18 mm off, 14 frames: marker jumped".

    parts: the affected parts, the worst first. measures: those that exceed their thresholds on the worst part. lasting:
    whether the error lasts and is no larger than in the rest of the take.
    """
    sentence = EFFECTS[measure].format(part=part_label(parts[0], tip=measure == "tip_error"), value=value)
    if len(parts) > 1:
        other_parts = "the whole hand" if len(parts) == len(PARTS) else f"{len(parts) - 1} more"
        sentence += f" and {other_parts}"
    sentence += f", {frames} frame{'' if frames == 1 else 's'}"
    cause = next((CAUSES[name] for name in CAUSES if name in measures and name != measure), "")
    causes = [*([TYPICAL] if lasting else []), *filter(None, [cause])]
    return f"{sentence}: {', '.join(causes)}" if causes else sentence


def limit_advice(side: Side, parts: Sequence[str], *, limited_bones: bool) -> str:
    """Return advice about parts of a hand that joint limits keep away from their markers.

    limited_bones: whether the rig has limits of its own.
    """
    labels = [part_label(part) for part in parts]
    part_names = " and ".join(filter(None, [", ".join(labels[:-1]), labels[-1]]))
    rig = " or without the rig's limits (Use Bone Limits, --no-rig-limits)" if limited_bones else ""
    return LIMIT_ADVICE.format(side=side, parts=part_names, is_="is" if len(parts) == 1 else "are", rig=rig)


def part_label(part: str, *, tip: bool = False) -> str:
    """Return the name of a part for use in a sentence, such as "ring finger".

    tip: whether the caller appends "tip", as in "ring fingertip". For "thumb tip", the name then ends with a space.
    """
    label = digit_label(part)
    return f"{label} " if tip and part == "thumb" else label
