"""Labels of the markers that the shown take was solved from, for corrections of them."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bpy.props import StringProperty

from ..errors import RecipeError, RigError
from ..hand.joints import CHAIN_JOINTS, SIDES, Side
from ..pipeline.corrections.correction import HiddenMarkers
from ..rig.keys.take_problems import TakeProblem, problems_of
from ..rig.keys.take_report import report_of
from .json_files import result_armature
from .review import current_problem, problem_here
from .take_corrections import shown_take

if TYPE_CHECKING:
    from bpy.types import Context


def labels_of_take(context: "Context") -> dict[str, tuple[Side, str]]:
    """Return label -> hand and joint, of the markers that the shown take was solved from."""
    report = report_of(result_armature(context)) or {}
    result: dict[str, tuple[Side, str]] = {}
    for side in SIDES:
        spots_of_labels = report.get("hands", {}).get(side, {}).get("markers", {})
        for label, spot in spots_of_labels.items() if isinstance(spots_of_labels, dict) else ():
            result[str(label)] = side, str(spot.get("joint", "")) if isinstance(spot, dict) else ""
    return result


def _suggested(_operator: Any, context: "Context", typed: str) -> list[str]:
    return [label for label in labels_of_take(context) if typed.lower() in label.lower()]


def label_property(name: str, description: str) -> Any:
    """Make the property of a marker's label, with those of the take to choose from."""
    return StringProperty(name=name, description=description, search=_suggested, options={"SKIP_SAVE"})


def hand_of_labels(context: "Context", *labels: str) -> Side:
    """Return the hand whose markers have these labels. Raises RigError if there is none or more than one."""
    known_labels = labels_of_take(context)
    if "" in labels:
        raise RigError(f"no marker is chosen, choose one of {', '.join(known_labels) or 'a take that has some'}")
    unknown_labels = [label for label in labels if label not in known_labels]
    if unknown_labels:
        raise RigError(f"the take has no marker '{unknown_labels[0]}', only {', '.join(known_labels) or 'none at all'}")
    sides = {known_labels[label][0] for label in labels}
    if len(sides) > 1:
        raise RigError(f"{' and '.join(labels)} are markers of different hands, expected those of one")
    return sides.pop()


def marker_of_problem(context: "Context") -> str:
    """Return the outermost marker, not hidden yet, of the digit of the problem that is shown.

    It is empty if there is none, and if the problem is unseen markers: hiding one more would leave less to solve from.
    """
    problem = _problem(context)
    if problem is None or is_unseen_here(context):
        return ""
    hidden_labels = _hidden_in(context, problem)
    label_of_spot = {spot: label for label, spot in labels_of_take(context).items() if label not in hidden_labels}
    spots_outwards = reversed(CHAIN_JOINTS.get(problem.parts[0], ()))
    return next(
        (label_of_spot[spot] for joint in spots_outwards if (spot := (problem.hand, joint)) in label_of_spot), ""
    )


def _hidden_in(context: "Context", problem: TakeProblem) -> set[str]:
    """Return the labels that corrections hide in some of the frames of a problem."""
    with suppress(RecipeError):
        take = shown_take(context)
        if take is not None:
            span = take.clock.times([problem.first, problem.last])
            overlapping = [
                correction.change.labels
                for correction in take.corrections
                if isinstance(correction.change, HiddenMarkers)
                and correction.counts
                and correction.range.start <= span[1]
                and span[0] <= correction.range.end
            ]
            return {label for labels in overlapping for label in labels}
    return set()


def is_unseen_here(context: "Context") -> bool:
    """Return whether the shown problem is unseen markers, and includes the current frame."""
    problem = problem_here(context)
    return problem is not None and problem.is_unseen


def _problem(context: "Context") -> TakeProblem | None:
    problems = problems_of(result_armature(context))
    current = current_problem(context, problems)
    return None if current is None else problems[current]
