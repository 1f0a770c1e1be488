"""Output of the shell command: progress, and summaries of takes and captures."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import printable
from ..hand.generators import Result, Steps, run_to_end

MAX_LISTED = 5
"""Maximum number of problems in the summary; the report may list more."""


@contextmanager
def progress_bar() -> Iterator[Callable[[float, str], None]]:
    """Show a progress bar if stderr is a terminal, and erase it at the end."""
    is_terminal = sys.stderr.isatty()

    def update(fraction: float, description: str) -> None:
        if is_terminal:
            filled = round(30 * fraction)
            line = f"\r\033[K[{'=' * filled:<30}] {100 * fraction:3.0f} % {printable(description)}"
            print(line, end="", file=sys.stderr, flush=True)

    try:
        yield update
    finally:
        if is_terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run_with_progress(work: Steps[Result], update_progress: Callable[[float, str], None]) -> Result:
    """Run a computation to its end, show its progress, and return its result."""
    return run_to_end(work, lambda progress: update_progress(progress.fraction, progress.description))


def report_text(report: dict[str, Any], out: Path) -> str:
    """Return a summary of the report for a terminal."""
    frames = f"{report['frames']} frame{'' if report['frames'] == 1 else 's'}"
    lines = [f"{out}: {frames} at {report['rate']:g} Hz, {report['marker_set']['name']}"]
    for side, hand in report["hands"].items():
        tips = [
            finger["tip_error_mm"] for finger in hand["fingers"].values() if finger["tip_error_mm"]["mean"] is not None
        ]
        if tips:
            mean = sum(tip["mean"] for tip in tips) / len(tips)
            worst = max(tip["max"] for tip in tips)
            lines.append(f"  {side} hand: fingertips {mean:.2f} mm off on average, {worst:.2f} mm at most")
        contacts = hand.get("contacts", ())
        held_contacts = [contact["off_mm"] for contact in contacts if "off_mm" in contact]
        if contacts:
            held_text = f", {len(held_contacts)} held, {max(held_contacts):.2f} mm off at most" if held_contacts else ""
            lines.append(f"    {len(contacts)} contact{'' if len(contacts) == 1 else 's'} of the performer{held_text}")
        rig = hand.get("rig")
        if rig and rig["left_mm"]["mean"] is not None:
            measured_points = "gaps of pinches" if rig["keep"] == "pinches" else "fingertips"
            error = f"{rig['left_mm']['mean']:.2f} mm from the performer's on average, {rig['left_mm']['max']:.2f} mm"
            lines.append(f"    on the rig {rig['keep']} are kept: {measured_points} {error} at most")
        if rig and rig["keep"] == "directions" and rig["left_deg"]["mean"] is not None:
            error = f"{rig['left_deg']['mean']:.1f} degrees on average, {rig['left_deg']['max']:.1f} degrees at most"
            sources = sorted({digit["directions_of"] for digit in rig["digits"].values() if digit["directions_of"]})
            lines.append(f"    bones deviate from the directions of the {' and the '.join(sources)} by {error}")
    problems = report.get("problems", ())
    if problems:
        lines.append(f"  {len(problems)} problem{'s' if len(problems) > 1 else ''}, worst first:")
    lines += [
        f"    {problem['hand']} hand, frame {problem['worst']}: {problem['reason']}"
        for problem in problems[:MAX_LISTED]
    ]
    lines += [f"  note: {warning}" for warning in report["warnings"]]
    return "\n".join(lines)


def tip_facts(tips: dict[str, dict[str, tuple[str, float]]]) -> dict[str, Any]:
    """Return hand -> label -> joint and confidence, JSON-ready, for hands of which only fingertips are recognised."""
    return {
        hand: {
            label: {"joint": tip, "confidence": round(confidence, 3)} for label, (tip, confidence) in hand_tips.items()
        }
        for hand, hand_tips in tips.items()
    }


def hands_text(facts: dict[str, Any]) -> str:
    """Return the recognised hands and markers of a capture, for a terminal."""
    markers = facts["markers"]
    if "problem" in markers:
        lines = [f"  no hand: {markers['problem']}"]
        for hand, tips in markers["tips"].items():
            lines.append(f"  {hand}: only fingertips are recognised, too few markers to solve")
            lines += [f"    {label}  {tip['confidence']:.2f}  {tip['joint']}" for label, tip in tips.items()]
        return "\n".join(lines)
    counts = ", ".join(f"{side} hand with {count} markers" for side, count in markers["hands"].items())
    method = "by shape and motion" if markers["by"] == "shape" else f"by their labels ({markers['set']})"
    lines = [f"  {counts}, {method}"]
    lines += [f"  note: {note}" for note in markers["notes"]]
    for hand in markers.get("hands_found", ()):
        lines.append(f"  {hand['side']} hand ({hand['set']}), side found with a confidence of {hand['sure']:.2f}")
        width = max(len(name) for name in hand["markers"])
        for name, entry in hand["markers"].items():
            origin = ", ".join(
                f"{source['label']} ({source['first']}-{source['last']})" for source in entry["from"][:4]
            )
            further_labels = f" and {len(entry['from']) - 4} more" if len(entry["from"]) > 4 else ""
            lines.append(f"    {name:<{width}}  {entry['confidence']:.2f}  {origin}{further_labels}")
    return "\n".join(lines)
