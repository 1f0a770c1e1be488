"""The command `pose`, for named poses."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from .. import api
from ..errors import KnuckleError
from ..files import expect_writable
from ..hand.joints import SIDES
from ..hand.poses import GROUPS, POSES, named
from ..rig.mapping import check_whole, read_preset
from . import options as cli_options
from .terminal import expect_replaceable, holding_interrupts, say

BOTH = "both"


def add_pose(parser: argparse.ArgumentParser) -> None:
    """Add the options of `pose`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a pose, one of those that --list prints")
    parser.add_argument("--list", action="store_true", help="print the poses")
    parser.add_argument("--out", type=Path, metavar="OUT.blend", help="the Blender file to write")
    cli_options.add_force(parser)
    cli_options.add_rig(parser)
    parser.add_argument(
        "--hand", choices=(*SIDES, BOTH), default=BOTH, help="hand to pose; both poses all hands that the rig has"
    )
    parser.add_argument(
        "--assets", action="store_true", help="add all poses to the file as pose assets, for Blender's asset shelf"
    )


def pose(options: argparse.Namespace, inputs: Sequence[Path]) -> None:
    """Print the poses, or pose a rig and save the file. Raises KnuckleError, before anything is written."""
    if options.list:
        say(_pose_list())
        return
    if options.out is None or (options.name is None and not options.assets):
        raise KnuckleError("pose: expected the NAME of a pose and --out OUT.blend, or --list")
    if options.name is not None:
        named(options.name)
    expect_writable(options.out, ".blend", unlike=inputs)
    expect_replaceable([options.out], options.force)
    mappings = tuple(read_preset(path) for path in options.mapping)
    for mapping in mappings:
        check_whole(mapping)
    with holding_interrupts():
        api.expect_blender()
    from ..rig import blend_file
    from ..rig.posing import posed_file

    rig_choice = blend_file.RigChoice(options.armature, mappings)
    sides = SIDES if options.hand == BOTH else (options.hand,)
    rig = options.rig or blend_file.DEFAULT_RIG
    result = posed_file.new_file_posed(rig, rig_choice, sides, options.name, all_assets=options.assets)
    blend_file.save(options.out)
    content = POSES[options.name].label if options.name else f"{len(POSES)} pose assets"
    hands = " and ".join(f"the {side} hand of {armature}" for armature, side in result.hands)
    say("\n".join([f"{options.out}: {content}, {hands}", *(f"  note: {note}" for note in result.notes)]))


def _pose_list() -> str:
    width = max(map(len, POSES))
    lines = []
    for group, title in GROUPS.items():
        lines.append(f"{title}:")
        lines += [f"  {name:<{width}}  {pose.about}" for name, pose in POSES.items() if pose.group == group]
    return "\n".join(lines)
