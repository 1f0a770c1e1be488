"""Summary of a capture for `knuckle info`, as data and as text."""

from typing import Any

import numpy as np

from .cleaning import Ints, runs
from .markers import Floats, Markers

MAX_LABEL_WIDTH = 40
"""Maximum width of the column of labels, in characters; a longer label shifts the rest of its row."""


def summary(markers: Markers) -> dict[str, Any]:
    """Return facts about a capture, JSON-ready: source, format, rate (Hz), duration (s), warnings, gaps and others.

    A gap is a run of frames in which a marker is not seen, also at the start and at the end.
    """
    column, start, stop = runs(~markers.seen)
    lengths = stop - start
    count = np.bincount(column, minlength=len(markers.names))
    longest = np.zeros(len(markers.names), int)
    np.maximum.at(longest, column, lengths)
    seconds = _gap_seconds(markers, column, start, stop)
    seen_fraction = markers.seen.mean(axis=0)
    return {
        "source": markers.source,
        "format": markers.format,
        "rate": round(markers.rate, 4),
        "unit": markers.unit,
        "frames": len(markers.times),
        "duration": round(markers.duration, 4),
        "timecode": markers.timecode,
        "warnings": list(markers.warnings),
        "labels": [
            {
                "label": name,
                "gaps": int(count[index]),
                "longest_gap_frames": int(longest[index]),
                "longest_gap_s": round(float(seconds[index]), 4),
                "seen_percent": round(100 * float(seen_fraction[index]), 2),
            }
            for index, name in enumerate(markers.names)
        ],
    }


def _gap_seconds(markers: Markers, column: Ints, start: Ints, stop: Ints) -> Floats:
    """Return the longest gap (M,) of each marker in s, from its first frame to the first frame after it."""
    times = np.append(markers.times, markers.times[-1] + 1.0 / markers.rate)
    seconds = np.zeros(len(markers.names))
    np.maximum.at(seconds, column, times[stop] - times[start])
    return seconds


def as_text(facts: dict[str, Any]) -> str:
    """Return the summary as lines for a terminal."""
    labels, frames = facts["labels"], facts["frames"]
    lines = [
        f"{facts['source']}: {facts['format']}",
        f"  {frames} frame{'s' * (frames != 1)}, {facts['duration']:.3f} s at {facts['rate']:g} Hz, in {facts['unit']}",
        *([f"  timecode {facts['timecode']}"] if facts["timecode"] else []),
        *(f"  note: {warning}" for warning in facts["warnings"]),
        f"  {len(labels)} labels",
    ]
    width = min(MAX_LABEL_WIDTH, max([5, *(len(row["label"]) for row in labels)]))
    lines.append(f"    {'label':<{width}}     seen   gaps  longest gap")
    for row in labels:
        gap = f"{row['longest_gap_frames']} frames, {row['longest_gap_s']:.3f} s" if row["gaps"] else "-"
        lines.append(f"    {row['label']:<{width}}  {row['seen_percent']:6.2f}%  {row['gaps']:5d}  {gap}")
    return "\n".join(lines)
