"""What can be typed behind the shell's commands, and the recipe that it stands for."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..hand.marker_sets import from_json
from ..pipeline import performer, recipe
from ..pipeline.recipe import DRIVES, HANDS, KEEPS, LABELS, SCALES, UNITS, UP_AXES, Recipe, read_json
from ..rig.mapping import read_preset, to_dict
from ..solvers import SMOOTHING, SMOOTHINGS, SOLVER, SOLVERS


def add_reading(parser: argparse.ArgumentParser) -> None:
    """A capture, and what its file does not say of itself."""
    parser.add_argument("file", metavar="FILE", help="a capture: C3D, TRC, CSV, TSV, BVH or JSON")
    parser.add_argument("--unit", choices=UNITS, help="overrides the file's unit of length")
    parser.add_argument("--up", choices=UP_AXES, help="overrides which axis points up in the file")


def add_hand(parser: argparse.ArgumentParser) -> None:
    """Which hand."""
    parser.add_argument("--hand", choices=HANDS, help="which hand of the capture; auto takes those that it holds")


def add_hands(parser: argparse.ArgumentParser) -> None:
    """Which hands, by which markers, in which frames."""
    add_hand(parser)
    parser.add_argument("--markers", type=Path, metavar="MAP.json", help="which label is which joint")
    add_labels(parser)
    parser.add_argument("--start", type=int, metavar="F", help="first frame of the capture to use, from 1")
    parser.add_argument("--end", type=int, metavar="F", help="last frame of the capture to use")


def add_labels(parser: argparse.ArgumentParser) -> None:
    """By what markers are told."""
    parser.add_argument(
        "--labels",
        choices=LABELS,
        help="by what markers are told: their names, or how they stand and move; auto by names where these tell",
    )


def add_calibrate(parser: argparse.ArgumentParser) -> None:
    """The options of `calibrate`."""
    parser.description = (
        "Measure a performer's hands on one capture or two. A hand that is flat and still tells the lengths of its "
        "bones, one that moves freely where its knuckles are, how far each DIP follows its PIP (rho) and how thick its "
        "joints are. What the captures cannot tell is told and kept as is usual for the hand's size."
    )
    add_reading(parser)
    add_hands(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="PERFORMER.json", help="where the measures go")
    parser.add_argument(
        "--still", metavar="A-B", help="frames of FILE in which the hand is still; else its calmest 30 are found"
    )
    parser.add_argument(
        "--motion",
        metavar="A-B|FILE[:A-B]",
        help="frames in which the hand moves freely, of FILE or of another capture; else all of FILE",
    )
    parser.add_argument(
        "--fit",
        action=argparse.BooleanOptionalAction,
        help="fit bones and where markers sit to the free motion, or do not; else where markers were recorded",
    )
    parser.add_argument(
        "--radii",
        action="append",
        default=[],
        metavar="[DIGIT=]MCP,PIP,DIP",
        help="joint radii in mm, half of what a caliper shows, as 11,8,7 for all fingers or thumb=10,10,8 for a digit; "
        "may be given again; else they are estimated",
    )


def add_rig(parser: argparse.ArgumentParser) -> None:
    """Whose hands are driven."""
    parser.add_argument(
        "--rig", metavar="default|FILE", help="a .blend or .glb with an armature; default builds a hand"
    )
    parser.add_argument(
        "--armature",
        metavar="NAME",
        help="which armature of the rig's file is driven; else the only one that has hands, or the active one",
    )
    parser.add_argument(
        "--mapping",
        action="append",
        type=Path,
        default=[],
        metavar="PRESET.json",
        help="which bone is which joint of a hand, as exported by the panel Rig's Hands; may be given again for the "
        "other hand; else the hands are found",
    )


def add_solve(parser: argparse.ArgumentParser) -> None:
    """The options of `solve`."""
    add_reading(parser)
    add_hands(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="OUT.blend", help="the Blender file to write")
    add_rig(parser)
    parser.add_argument(
        "--arm",
        action=argparse.BooleanOptionalAction,
        help="the arm on which a rig's hand hangs brings the wrist to where the capture has it",
    )
    parser.add_argument(
        "--rig-limits",
        action=argparse.BooleanOptionalAction,
        help="what a rig says of how its bones may turn is obeyed (the default)",
    )
    parser.add_argument(
        "--subject",
        metavar="NAME",
        help="whose hands, of a capture of several people, as its labels call them; else those that are seen best",
    )
    parser.add_argument(
        "--mirror",
        action=argparse.BooleanOptionalAction,
        help="the capture's right hand drives the left one, and its left hand the right one, mirrored in X = 0",
    )
    parser.add_argument(
        "--keep",
        choices=KEEPS,
        help="what a rig's hand of other proportions keeps: how bones point (the default), where fingertips are, or "
        "how far thumb and fingers are apart where they pinch",
    )
    parser.add_argument(
        "--keep-scale",
        choices=SCALES,
        help="how places and distances are kept: grown with the rig's hand (the default), or in metres of the world",
    )
    parser.add_argument("--solver", choices=sorted(SOLVERS), help="how the joints are found")
    parser.add_argument(
        "--drive",
        choices=DRIVES,
        help="in a device's take: targets has the solver find joint angles (the default), joints takes the device's",
    )
    parser.add_argument(
        "--smoothing",
        choices=tuple(SMOOTHINGS),
        help="what is done about noise: off (the default), live as it is for a hand still moving, whole by all frames",
    )
    for option, what in (("--set", "solver"), ("--set-smoothing", "smoothing")):
        parser.add_argument(
            option,
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help=f"one of the {what}'s settings, as `knuckle solvers` tells them; may be given again",
        )
    parser.add_argument("--performer", type=Path, metavar="PERFORMER.json", help="measures that calibrate saved")
    parser.add_argument("--fps", type=float, metavar="N", help="frames per second; else the capture's own frames")
    parser.add_argument("--report", type=Path, metavar="R.json", help="where the figures go")
    parser.add_argument("--joints", type=Path, metavar="J.npz", help="where the solved joints go")
    parser.add_argument(
        "--recipe", type=Path, metavar="RECIPE.json", help="choices to start from; options overrule them"
    )


def recipe_of(options: argparse.Namespace) -> Recipe:
    """The choices of a command line. Raises RecipeError for a file or value that is not understood."""
    stated = {
        name: getattr(options, name, None)
        for name in (
            *("unit", "up", "start", "end", "hand", "subject", "mirror", "labels"),
            *("rig", "armature", "arm", "rig_limits", "keep", "keep_scale", "solver", "drive", "smoothing", "fps"),
        )
    }
    checks: dict[str, Callable[[Any, str], object]] = {"markers": from_json, "performer": performer.from_dict}
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
    # What a recipe sets on one solver means nothing to another.
    kept = base.settings if chosen.solver == base.solver else {}
    calm = base.smoothing_settings if chosen.smoothing == base.smoothing else {}
    return replace(
        chosen,
        settings=kept | SOLVER.typed(chosen.solver, getattr(options, "set", ())),
        smoothing_settings=calm | SMOOTHING.typed(chosen.smoothing, getattr(options, "set_smoothing", ())),
    )
