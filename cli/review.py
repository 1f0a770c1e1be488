"""The command `review`: a report page of a saved take, or of two takes compared."""

import argparse
from pathlib import Path

from .. import api
from ..files import expect_writable, written_whole
from ..pipeline.report_page.content import NOT_REQUESTED, ReviewedTake
from ..pipeline.report_page.page import page
from .options import add_force
from .output import progress_bar
from .terminal import expect_replaceable, holding_interrupts, say


def add_review(parser: argparse.ArgumentParser) -> None:
    """Add the options of `review`."""
    parser.description = (
        "Write a report page of a saved take, or of two takes compared, such as those of two solvers. The page is one "
        "HTML file that needs no network."
    )
    parser.add_argument("take", type=Path, metavar="TAKE.blend", help="a file with a take")
    parser.add_argument("other", type=Path, nargs="?", metavar="OTHER.blend", help="a file with a take to compare with")
    parser.add_argument("--html", type=Path, required=True, metavar="R.html", help="the page to write")
    parser.add_argument(
        "--armature", metavar="NAME", help="armature that plays the take, if several in a file do; by default the first"
    )
    parser.add_argument(
        "--pictures",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="render pictures of the worst frames (the default)",
    )
    add_force(parser)


def review(options: argparse.Namespace) -> None:
    """Write the page. Raises KnuckleError, in which case nothing is written."""
    inputs = [path for path in (options.take, options.other) if path is not None]
    expect_writable(options.html, ".html", unlike=inputs)
    expect_replaceable([options.html], options.force)
    with holding_interrupts():
        api.expect_blender()
    from ..rig.problem_pictures import problem_pictures
    from ..rig.reviewed_file import open_take

    takes: list[ReviewedTake] = []
    pictures = NOT_REQUESTED
    with progress_bar() as update_progress:
        for number, path in enumerate(inputs):
            update_progress(number / (len(inputs) + 1), f"Reading {path.name}")
            armature, take = open_take(path, options.armature)
            takes.append(take)
            if number == 0:
                update_progress(0.3, "Rendering the worst frames")
                pictures = problem_pictures(take, armature) if options.pictures else NOT_REQUESTED
        with written_whole(options.html) as file:
            file.write_text(page(takes, pictures), encoding="utf-8")
    counts = [f"{take.name}: {len(take.problems)} problem{'s' * (len(take.problems) != 1)}" for take in takes]
    say("\n".join([f"{options.html}: {options.html.stat().st_size / 1e6:.1f} MB", *(f"  {line}" for line in counts)]))
