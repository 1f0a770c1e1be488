"""Options of the shell's commands, and their conversion to a recipe."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..hand.joints import DIGITS
from ..hand.marker_sets import from_json
from ..pipeline import performer, recipe
from ..pipeline.capture_transform import CaptureTransform
from ..pipeline.corrections.correction_json import from_list
from ..pipeline.recipe import (
    ALIGNS,
    ANGLES,
    DRIVES,
    HANDS,
    INTOS,
    KEEPS,
    LABELS,
    LANDMARKS,
    MARKERS_ON,
    SCALES,
    UNITS,
    UP_AXES,
    Recipe,
    read_json,
)
from ..rig.mapping import read_preset, to_dict
from ..solvers import SMOOTHING, SMOOTHINGS, SOLVER, SOLVERS


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add the capture, its unit and its up axis."""
    parser.add_argument("file", metavar="FILE", help="a capture: C3D, TRC, CSV, TSV, BVH, JSON, FBX, glTF or USD")
    parser.add_argument("--unit", choices=UNITS, help="unit of length, instead of the file's")
    parser.add_argument("--up", choices=UP_AXES, help="axis that points up, instead of the file's")


def add_animation(parser: argparse.ArgumentParser) -> None:
    """Add the choice of an animation."""
    parser.add_argument(
        "--animation", metavar="NAME", help="animation to read from an FBX or glTF file that holds several"
    )


def add_rate(parser: argparse.ArgumentParser) -> None:
    """Add the rate of the capture."""
    parser.add_argument(
        "--rate",
        dest="capture_rate",
        type=float,
        metavar="HZ",
        help="frames per second of the capture, instead of the file's times",
    )


def add_camera(parser: argparse.ArgumentParser) -> None:
    """Add what is known of the camera and the hand, for landmarks in its picture."""
    parser.add_argument(
        "--landmarks",
        choices=LANDMARKS,
        help="for landmarks of a camera: fit a hand to them in the picture (the default), or take world landmarks",
    )
    parser.add_argument(
        "--angle-of-view",
        type=float,
        metavar="DEG",
        help="angle of view of the camera across the picture's longer side; by default 60",
    )
    parser.add_argument(
        "--hand-length",
        type=float,
        metavar="M",
        help="length in m of the hand before the camera, wrist to middle fingertip; by default an adult's",
    )


def add_hand(parser: argparse.ArgumentParser) -> None:
    """Add the choice of hands."""
    parser.add_argument("--hand", choices=HANDS, help="hand of the capture; auto takes all that are in it")


def add_hands(parser: argparse.ArgumentParser) -> None:
    """Add the choice of hands, markers and frames."""
    add_hand(parser)
    parser.add_argument("--markers", type=Path, metavar="MAP.json", help="maps labels to joints")
    add_labels(parser)
    parser.add_argument("--start", type=int, metavar="F", help="first frame of the capture to use, from 1")
    parser.add_argument("--end", type=int, metavar="F", help="last frame of the capture to use")


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the method of labelling."""
    parser.add_argument(
        "--labels",
        choices=LABELS,
        help="label markers by their names, or by their shape and motion; auto uses names if they are understood",
    )


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add the consent to replace files."""
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def add_info(parser: argparse.ArgumentParser) -> None:
    """Add the options of `info`."""
    add_reading(parser)
    add_rate(parser)
    add_camera(parser)
    add_animation(parser)
    add_hand(parser)
    add_labels(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--save-markers", type=Path, metavar="MAP.json", help="write the labels that were found, to correct them"
    )
    add_force(parser)


def add_labels_command(parser: argparse.ArgumentParser) -> None:
    """Add the options of `labels`."""
    parser.description = (
        "Learn where the markers of a labelled capture sit on the hand, and write a marker map. With --markers, "
        "captures of this set without its labels, of any performer and of either hand, are labelled by it."
    )
    parser.add_argument("action", choices=("learn",), help="what to do")
    add_reading(parser)
    add_rate(parser)
    add_camera(parser)
    add_animation(parser)
    add_hand(parser)
    parser.add_argument("--markers", type=Path, metavar="MAP.json", help="maps labels to joints")
    parser.add_argument("--start", type=int, metavar="F", help="first frame of the capture to use, from 1")
    parser.add_argument("--end", type=int, metavar="F", help="last frame of the capture to use")
    parser.add_argument("--out", type=Path, required=True, metavar="SET.json", help="the marker map to write")
    add_force(parser)


def add_calibrate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `calibrate`."""
    parser.description = (
        "Measure a performer's hands on one capture or two. A flat and still hand determines the lengths of its bones, "
        "one that moves freely its knuckles, how far each DIP follows its PIP (rho), and the radii of its joints. "
        "What the captures do not determine is reported, and keeps the usual value for the hand's size."
    )
    add_reading(parser)
    add_rate(parser)
    add_camera(parser)
    add_animation(parser)
    add_hands(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="PERFORMER.json", help="where the measurements are saved"
    )
    add_force(parser)
    parser.add_argument(
        "--still",
        metavar="A-B",
        help="frames of FILE in which the hand is still; by default the 30 with the least motion",
    )
    parser.add_argument(
        "--motion",
        metavar="A-B|FILE[:A-B]",
        help="frames in which the hand moves freely, of FILE or of another capture; by default all of FILE",
    )
    parser.add_argument(
        "--fit",
        action=argparse.BooleanOptionalAction,
        help="fit bones and marker offsets to the free motion; by default if markers were recorded, not joints",
    )
    parser.add_argument(
        "--radii",
        action="append",
        default=[],
        metavar="[DIGIT=]MCP,PIP,DIP",
        help="joint radii in mm (half the thickness), such as 11,8,7 for all fingers or thumb=10,10,8 for one digit; "
        "repeatable; by default estimated",
    )


def add_rig(parser: argparse.ArgumentParser) -> None:
    """Add the choice of a rig, its armature and the mappings of its hands."""
    parser.add_argument(
        "--rig", metavar="default|FILE", help="a .blend, .glb, .vrm or .fbx with an armature; default builds a hand"
    )
    parser.add_argument(
        "--armature",
        metavar="NAME",
        help="armature to key, if the rig's file has several with hands; by default the active one",
    )
    parser.add_argument(
        "--mapping",
        action="append",
        type=Path,
        default=[],
        metavar="PRESET.json",
        help="mapping of the bones of a hand, exported from the panel Hand Mapping; repeatable, one for each hand; by "
        "default the hands are found",
    )


def add_reduction(parser: argparse.ArgumentParser) -> None:
    """Add how keys are reduced."""
    parser.add_argument(
        "--reduce",
        action=argparse.BooleanOptionalAction,
        help="reduce the keys of a new take to few with handles, and keep the dense take beside it",
    )
    parser.add_argument(
        "--reduce-distance", type=float, metavar="M", help="most that this may move a fingertip, in m; by default 0.001"
    )
    parser.add_argument(
        "--reduce-angle", type=float, metavar="DEG", help="most that it may turn a joint, in degrees; by default 1"
    )
    parser.add_argument(
        "--reduce-shared",
        action=argparse.BooleanOptionalAction,
        help="key all bones of a digit on each of its frames; by default each bone has only the keys that it needs",
    )


def add_contacts(parser: argparse.ArgumentParser) -> None:
    """Add what becomes of flesh that touches."""
    parser.add_argument(
        "--hold-contacts",
        action=argparse.BooleanOptionalAction,
        help="hold the performer's contacts on the hand that is keyed: fingertips that stay on digits or the palm",
    )
    parser.add_argument(
        "--keep-apart",
        action=argparse.BooleanOptionalAction,
        help="part digits and palm where they are more than 1 mm deep in each other, with the least motion",
    )


def add_solve(parser: argparse.ArgumentParser) -> None:
    """Add the options of `solve`."""
    add_reading(parser)
    add_rate(parser)
    add_camera(parser)
    add_animation(parser)
    add_hands(parser)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="OUT.blend|OUT.npz",
        help="the Blender file to write, or the joints alone as .npz, which needs no Blender and is for takes of any "
        "length",
    )
    add_rig(parser)
    parser.add_argument(
        "--drive",
        choices=DRIVES,
        help="what the capture moves: the fingers alone, the hand with its wrist, which bends against the forearm as "
        "captured if the capture shows the elbow, or also the arm, so that the wrist is where it was recorded; auto, "
        "the default, moves the fingers of a hand on an arm, else the wrist too",
    )
    parser.add_argument(
        "--align",
        choices=ALIGNS,
        help="place the capture at the rig, with --drive wrist or arm: its hands begin where the rig's are in the "
        "current pose or at rest, by the forearms if it shows the elbows, or by two points",
    )
    parser.add_argument(
        "--align-points",
        nargs=2,
        metavar=("WRIST", "TOWARDS"),
        help="objects in the rig's file for --align points: where the wrist begins, and where the fingers point",
    )
    parser.add_argument(
        "--digits", nargs="+", choices=DIGITS, help="digits to key; unless all are, wrist and arm stay; by default all"
    )
    parser.add_argument(
        "--into",
        choices=INTOS,
        help="key a new take (the default), or replace these frames of this take, which the rig's armature plays",
    )
    for option, way in (
        ("--blend-in", "this take's keys go over to the new"),
        ("--blend-out", "the new go over to them"),
    ):
        parser.add_argument(option, type=int, metavar="N", help=f"frames over which {way}; 5 by default")
    add_reduction(parser)
    add_contacts(parser)
    parser.add_argument(
        "--corrections",
        type=Path,
        metavar="C.json",
        help="corrections saved in the panel Corrections, or by hand, that lie on the take; by default those of the "
        "recipe, else those of the take that the rig plays, if it is of this capture",
    )
    parser.add_argument(
        "--location",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="where the capture's origin is in the scene, in m",
    )
    parser.add_argument(
        "--rotation",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="rotation of the capture in the scene about X, then Y, then Z, in degrees",
    )
    parser.add_argument("--scale", type=float, metavar="S", help="scale of the capture in the scene")
    parser.add_argument(
        "--rig-limits",
        action=argparse.BooleanOptionalAction,
        help="obey the rig's rotation limits (the default)",
    )
    parser.add_argument(
        "--subject",
        metavar="NAME",
        help="person to solve, by the prefix of the labels, in a capture of several; by default the one seen best",
    )
    parser.add_argument(
        "--mirror",
        action=argparse.BooleanOptionalAction,
        help="mirror in X = 0: the recorded right hand drives the left one and the left hand the right one",
    )
    parser.add_argument(
        "--keep",
        choices=KEEPS,
        help="what to keep on a rig of other proportions: directions of bones (the default), positions of fingertips, "
        "or distances between thumb and fingers in pinches",
    )
    parser.add_argument(
        "--keep-scale",
        choices=SCALES,
        help="scale of positions and distances that are kept: of the rig's hand (the default), or metres",
    )
    parser.add_argument(
        "--markers-on",
        choices=MARKERS_ON,
        help="skin fits the performer with the markers worn and ends with a least-squares finish over all of them; "
        "joints leaves the solver's own answer, which meets fingertips; auto, the default, goes by the marker set",
    )
    parser.add_argument("--solver", choices=sorted(SOLVERS), help="method that finds the joint angles")
    parser.add_argument(
        "--angles",
        choices=ANGLES,
        help="for takes of devices: joint angles are solved from positions (the default), or the device's own",
    )
    parser.add_argument(
        "--smoothing",
        choices=tuple(SMOOTHINGS),
        help="off (the default); live uses earlier frames, whole also later ones",
    )
    for option, what in (("--set", "solver"), ("--set-smoothing", "smoothing")):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"set one of the {what}'s settings, listed by `knuckle solvers`; repeatable",
        )
    parser.add_argument("--performer", type=Path, metavar="PERFORMER.json", help="measurements saved by calibrate")
    parser.add_argument("--fps", type=float, metavar="N", help="frames per second; by default the capture's own frames")
    parser.add_argument("--report", type=Path, metavar="R.json", help="where to write the report")
    parser.add_argument("--joints", type=Path, metavar="J.npz", help="where to write the solved joints")
    parser.add_argument("--evidence", type=Path, metavar="E.npz", help="where to write the evidence of each frame")
    parser.add_argument(
        "--html", type=Path, metavar="R.html", help="where to write the report page, which needs no network"
    )
    parser.add_argument(
        "--fail-on",
        metavar="CONDITIONS",
        help="exit with status 3 if the take, which is saved all the same, meets one of the conditions, such as "
        "'tip_error_mm.p99>3,leaps>0'; a figure that is not known counts as meeting it",
    )
    add_force(parser)
    parser.add_argument("--recipe", type=Path, metavar="RECIPE.json", help="recipe to start from; options overrule it")


def _transform(options: argparse.Namespace, base: CaptureTransform) -> CaptureTransform:
    """The transform that a command line describes. Raises RecipeError."""
    stated: dict[str, Any] = {name: getattr(options, name, None) for name in ("location", "rotation", "scale")}
    parts = {name: part for name, part in stated.items() if part is not None}
    parts |= {name: tuple(part) for name, part in parts.items() if isinstance(part, list)}
    return replace(base, **parts)


def recipe_of(options: argparse.Namespace) -> Recipe:
    """The recipe that a command line describes. Raises RecipeError if a file or value is not understood."""
    stated = {
        name: getattr(options, name, None)
        for name in (
            *("landmarks", "angle_of_view", "hand_length"),
            *("unit", "up", "animation", "start", "end", "hand", "subject", "mirror", "labels", "markers_on"),
            *(
                "rig",
                "armature",
                "drive",
                "align",
                "align_points",
                "digits",
                "into",
                "blend_in",
                "blend_out",
                "reduce",
                "reduce_distance",
                "reduce_angle",
                "reduce_shared",
                "hold_contacts",
                "keep_apart",
                "rig_limits",
                "keep",
                "keep_scale",
                "solver",
                "angles",
                "smoothing",
                "fps",
            ),
        )
    }
    stated["rate"] = getattr(options, "capture_rate", None)
    checks: dict[str, Callable[[Any, str], object]] = {
        "markers": from_json,
        "performer": performer.from_dict,
        "corrections": from_list,
    }
    for name, check in checks.items():
        path = getattr(options, name, None)
        stated[name] = read_json(path) if path is not None else None
        if path is not None:
            check(stated[name], str(path))
    presets = [read_preset(path) for path in getattr(options, "mapping", ())]
    stated["mappings"] = {preset.side: to_dict(preset) for preset in presets} or None
    base_path = getattr(options, "recipe", None)
    base = recipe.from_dict(read_json(base_path), str(base_path)) if base_path is not None else Recipe(options.file)
    chosen = replace(base, capture=options.file, **{name: value for name, value in stated.items() if value is not None})
    chosen = replace(chosen, transform=_transform(options, base.transform))
    # Settings in the recipe belong to its own solver and smoothing.
    solver_settings = base.settings if chosen.solver == base.solver else {}
    smoothing_settings = base.smoothing_settings if chosen.smoothing == base.smoothing else {}
    return replace(
        chosen,
        settings=solver_settings | SOLVER.parse(chosen.solver, getattr(options, "set", ())),
        smoothing_settings=smoothing_settings
        | SMOOTHING.parse(chosen.smoothing, getattr(options, "set_smoothing", ())),
    )
