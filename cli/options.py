"""Options of the shell commands, and their conversion to a recipe."""

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
    """Add options for the capture, its unit and its up axis."""
    parser.add_argument("file", metavar="FILE", help="a capture: C3D, TRC, CSV, TSV, BVH, JSON, FBX, glTF or USD")
    parser.add_argument("--unit", choices=UNITS, help="unit of length, instead of the file's")
    parser.add_argument("--up", choices=UP_AXES, help="axis that points up, instead of the file's")


def add_animation(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects an animation."""
    parser.add_argument(
        "--animation", metavar="NAME", help="animation to read from an FBX or glTF file that holds several"
    )


def add_rate(parser: argparse.ArgumentParser) -> None:
    """Add the option for the capture's frame rate."""
    parser.add_argument(
        "--rate",
        dest="capture_rate",
        type=float,
        metavar="HZ",
        help="frames per second of the capture, instead of the file's times",
    )


def add_camera(parser: argparse.ArgumentParser) -> None:
    """Add options for captures of landmarks in a camera's picture."""
    parser.add_argument(
        "--landmarks",
        choices=LANDMARKS,
        help="for landmarks of a camera: fit a hand to them in the picture (the default), or use the world landmarks",
    )
    parser.add_argument(
        "--angle-of-view",
        type=float,
        metavar="DEG",
        help="angle of view of the camera, in degrees, along the picture's longer side; by default 60",
    )
    parser.add_argument(
        "--hand-length",
        type=float,
        metavar="M",
        help="length in m of the performer's hand, from wrist to middle fingertip; by default an adult's",
    )


def add_hand(parser: argparse.ArgumentParser) -> None:
    """Add the option that selects hands."""
    parser.add_argument("--hand", choices=HANDS, help="hand of the capture; auto uses all hands in it")


def add_hands(parser: argparse.ArgumentParser) -> None:
    """Add options that select hands, markers and frames."""
    add_hand(parser)
    parser.add_argument("--markers", type=Path, metavar="MAP.json", help="maps labels to joints")
    add_labels(parser)
    parser.add_argument("--start", type=int, metavar="F", help="first frame of the capture to use, from 1")
    parser.add_argument("--end", type=int, metavar="F", help="last frame of the capture to use")


def add_labels(parser: argparse.ArgumentParser) -> None:
    """Add the option for the method of labelling."""
    parser.add_argument(
        "--labels",
        choices=LABELS,
        help="label markers by their names, or by their shape and motion; auto uses names if they are understood",
    )


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add the option that allows existing files to be overwritten."""
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


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
        "--save-markers",
        type=Path,
        metavar="MAP.json",
        help="write a marker map of the recognised labels, to be edited",
    )
    add_force(parser)


def add_labels_command(parser: argparse.ArgumentParser) -> None:
    """Add the options of `labels`."""
    parser.description = (
        "Learn where the markers of a labelled capture sit on the hand, and write a marker map. Passed as --markers, "
        "it labels unlabelled captures with the same marker set, of any performer and of either hand."
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
        "Measure a performer's hands from one capture or several. A flat, still hand determines the bone lengths; free "
        "motion determines the knuckles, how far each DIP follows its PIP (rho), and the joint radii. "
        "Values that the captures do not determine are reported, and set to those usual for the hand's size."
    )
    add_reading(parser)
    add_rate(parser)
    add_camera(parser)
    add_animation(parser)
    add_hands(parser)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="PERFORMER.json", help="where to write the measurements"
    )
    add_force(parser)
    parser.add_argument(
        "--still",
        metavar="A-B",
        help="frames of FILE in which the hand is still; by default the 30 frames with the least motion",
    )
    parser.add_argument(
        "--motion",
        action="append",
        default=[],
        metavar="A-B|FILE[:A-B]",
        help="frames in which the hand moves freely, of FILE or of another capture; by default all of FILE; repeatable "
        "for several captures with the same markers",
    )
    parser.add_argument(
        "--fit",
        action=argparse.BooleanOptionalAction,
        help="fit bones and marker offsets to the free motion; the default for recordings of markers, not of joints",
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
    """Add options for the rig, its armature and the mappings of its hands."""
    parser.add_argument(
        "--rig", metavar="default|FILE", help="a .blend, .glb, .vrm or .fbx with an armature; default creates a hand"
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
        "default hands are detected",
    )


def add_reduction(parser: argparse.ArgumentParser) -> None:
    """Add options for the reduction of keys."""
    parser.add_argument(
        "--reduce",
        action=argparse.BooleanOptionalAction,
        help="reduce the keys of a new take to few keys with handles, and keep the dense take as well",
    )
    parser.add_argument(
        "--reduce-distance",
        type=float,
        metavar="M",
        help="maximum distance in m by which reduction may move a fingertip; by default 0.001",
    )
    parser.add_argument(
        "--reduce-angle",
        type=float,
        metavar="DEG",
        help="maximum angle in degrees by which reduction may rotate a joint; by default 1",
    )
    parser.add_argument(
        "--reduce-shared",
        action=argparse.BooleanOptionalAction,
        help="give all bones of a digit keys on the same frames; by default each bone has only the keys that it needs",
    )


def add_contacts(parser: argparse.ArgumentParser) -> None:
    """Add options for contacts and intersections of the hand's flesh."""
    parser.add_argument(
        "--hold-contacts",
        action=argparse.BooleanOptionalAction,
        help="hold the performer's contacts, of fingertips with digits or the palm, on the hand that is keyed",
    )
    parser.add_argument(
        "--keep-apart",
        action=argparse.BooleanOptionalAction,
        help="separate digits and palm that intersect by more than 1 mm, with as little motion as possible",
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
        help="the Blender file to write, or an .npz of the joints alone, which needs no Blender and can be of any "
        "length",
    )
    add_rig(parser)
    parser.add_argument(
        "--drive",
        choices=DRIVES,
        help="what the capture moves: the fingers alone; the fingers and the wrist, which bends relative to the "
        "forearm if the capture has the elbow; or also the arm, so that the wrist is where it was recorded. auto, the "
        "default, moves only the fingers if the hand is on an arm, else the wrist too",
    )
    parser.add_argument(
        "--align",
        choices=ALIGNS,
        help="with --drive wrist or arm, move the capture to the rig: its hands (or forearms, if it has elbows) start "
        "where the rig's are in the current pose or in the rest pose, or at two points",
    )
    parser.add_argument(
        "--align-points",
        nargs=2,
        metavar=("WRIST", "TOWARDS"),
        help="for --align points: objects in the rig's file at which the wrist starts and to which the fingers point",
    )
    parser.add_argument(
        "--digits",
        nargs="+",
        choices=DIGITS,
        help="digits to key; wrist and arm are keyed only with all digits; by default all",
    )
    parser.add_argument(
        "--into",
        choices=INTOS,
        help="key a new take (the default), or replace these frames of this take, which the rig's armature plays",
    )
    for option, blend in (
        ("--blend-in", "from the take's old keys to the new ones"),
        ("--blend-out", "from the new keys back to the old ones"),
    ):
        parser.add_argument(option, type=int, metavar="N", help=f"frames of the blend {blend}; by default 5")
    add_reduction(parser)
    add_contacts(parser)
    parser.add_argument(
        "--corrections",
        type=Path,
        metavar="C.json",
        help="corrections to apply to the take, saved in the panel Corrections or written by hand; by default those of "
        "the recipe, or else those of the take that the rig plays, if it is of the same capture",
    )
    parser.add_argument(
        "--location",
        type=float,
        nargs=3,
        metavar=("X", "Y", "Z"),
        help="location of the capture's origin in the scene, in m",
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
        help="prefix of the labels of the person to solve, in a capture of several; by default the person seen best",
    )
    parser.add_argument(
        "--mirror",
        action=argparse.BooleanOptionalAction,
        help="mirror at X = 0: the recorded right hand drives the left one and the left hand the right one",
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
        help="skin fits the performer and ends with a least-squares fit to all markers; joints keeps the solver's own "
        "result, which reaches the fingertips; auto, the default, depends on the marker set",
    )
    parser.add_argument("--solver", choices=sorted(SOLVERS), help="method that solves for the joint angles")
    parser.add_argument(
        "--angles",
        choices=ANGLES,
        help="for recordings of devices: solve joint angles from positions (the default), or use the device's own",
    )
    parser.add_argument(
        "--smoothing",
        choices=tuple(SMOOTHINGS),
        help="off (the default); live uses earlier frames, whole also later ones",
    )
    for option, method in (("--set", "solver"), ("--set-smoothing", "smoothing")):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"set one of the {method}'s settings, listed by `knuckle solvers`; repeatable",
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
        help="exit with status 3 if the take, which is saved in any case, meets one of the conditions, such as "
        "'tip_error_mm.p99>3,leaps>0'; an unknown figure meets every condition",
    )
    add_force(parser)
    parser.add_argument("--recipe", type=Path, metavar="RECIPE.json", help="recipe to start from; options override it")


def _transform(options: argparse.Namespace, base: CaptureTransform) -> CaptureTransform:
    """Return the transform `base` with the values that the options set. Raises RecipeError."""
    values: dict[str, Any] = {name: getattr(options, name, None) for name in ("location", "rotation", "scale")}
    changes = {name: value for name, value in values.items() if value is not None}
    changes |= {name: tuple(value) for name, value in changes.items() if isinstance(value, list)}
    return replace(base, **changes)


def recipe_of(options: argparse.Namespace) -> Recipe:
    """Return the recipe that the options describe. Raises RecipeError for invalid files and values."""
    values = {
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
    values["rate"] = getattr(options, "capture_rate", None)
    checks: dict[str, Callable[[Any, str], object]] = {
        "markers": from_json,
        "performer": performer.from_dict,
        "corrections": from_list,
    }
    for name, check in checks.items():
        path = getattr(options, name, None)
        values[name] = read_json(path) if path is not None else None
        if path is not None:
            check(values[name], str(path))
    presets = [read_preset(path) for path in getattr(options, "mapping", ())]
    values["mappings"] = {preset.side: to_dict(preset) for preset in presets} or None
    base_path = getattr(options, "recipe", None)
    base = recipe.from_dict(read_json(base_path), str(base_path)) if base_path is not None else Recipe(options.file)
    new_recipe = replace(
        base, capture=options.file, **{name: value for name, value in values.items() if value is not None}
    )
    new_recipe = replace(new_recipe, transform=_transform(options, base.transform))
    # Settings in the recipe belong to its own solver and smoothing.
    solver_settings = base.settings if new_recipe.solver == base.solver else {}
    smoothing_settings = base.smoothing_settings if new_recipe.smoothing == base.smoothing else {}
    return replace(
        new_recipe,
        settings=solver_settings | SOLVER.parse(new_recipe.solver, getattr(options, "set", ())),
        smoothing_settings=smoothing_settings
        | SMOOTHING.parse(new_recipe.smoothing, getattr(options, "set_smoothing", ())),
    )
