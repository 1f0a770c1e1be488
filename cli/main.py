"""The shell command: `knuckle` with Blender's Python module, `blender --command knuckle` in Blender itself."""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import api
from ..capture.summary import as_text, summary
from ..errors import KnuckleError
from ..files import expect_writable, make_folder, write_json, written_whole
from ..hand.marker_sets import to_json
from ..pipeline import assignment as assigning
from ..pipeline import calibration, performer
from ..pipeline import job as pipeline
from ..pipeline.calibration_choices import CalibrationChoices, Span, motion_of, typed_radii
from ..pipeline.recipe import Recipe
from ..pipeline.rig_constraints import Rig
from ..solvers import SMOOTHING, SOLVER
from . import options as cli_options
from . import poses, streams
from .output import hands_text, progress_bar, report_text, tip_facts, write_joints

EPILOG = "Exit status: 0 success, 1 a problem described in one sentence on stderr, 2 wrong usage."
DEMO_CAPTURE = Path(__file__).parents[1] / "data" / "leap_finger_tap.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit status."""
    try:
        options = command_parser().parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        options.run(options)
    except KnuckleError as problem:
        print(f"knuckle: {problem}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has closed the pipe, as in `knuckle info FILE | head`.
        sys.stderr.close()
    return 0


def command_parser() -> argparse.ArgumentParser:
    """The parser of the command line, with all commands."""
    parser = argparse.ArgumentParser(
        prog="knuckle", description="Solve recorded hands, and key and pose rigs.", epilog=EPILOG
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_info(commands)
    _add_calibrate(commands)
    _add_solve(commands)
    _add_pose(commands)
    _add_solvers(commands)
    _add_devices(commands)
    _add_demo(commands)
    return parser


def _command(commands: Any, name: str, text: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, epilog=EPILOG)
    parser.set_defaults(run=run)
    return parser


def _add_info(commands: Any) -> None:
    parser = _command(commands, "info", "Print labels, rate, unit, duration and gaps of a capture.", _info)
    cli_options.add_reading(parser)
    cli_options.add_hand(parser)
    cli_options.add_labels(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--save-markers", type=Path, metavar="MAP.json", help="write the labels that were found, to correct them"
    )


def _add_calibrate(commands: Any) -> None:
    parser = _command(commands, "calibrate", "Measure a performer's hands on one capture or two.", _calibrate)
    cli_options.add_calibrate(parser)


def _add_solve(commands: Any) -> None:
    parser = _command(commands, "solve", "Solve a capture and save a file with the keyed hand.", _solve)
    cli_options.add_solve(parser)


def _add_pose(commands: Any) -> None:
    parser = _command(commands, "pose", "Put a rig's hands into a named pose, and save the file.", _pose)
    poses.add_pose(parser)


def _add_solvers(commands: Any) -> None:
    _command(commands, "solvers", "Print the solvers and smoothings with their settings.", _solvers)


def _add_devices(commands: Any) -> None:
    _command(commands, "devices", "Print the devices that can be followed live.", streams.devices)
    listen = _command(commands, "listen", "Print what arrives from a device.", streams.listen)
    streams.add_listen(listen)
    stream = _command(commands, "stream", "Solve a capture and send it as a device would.", _stream)
    cli_options.add_reading(stream)
    cli_options.add_hands(stream)
    streams.add_stream(stream)


def _add_demo(commands: Any) -> None:
    parser = _command(commands, "demo", "Solve the bundled recording, and save the take, pictures and a video.", _demo)
    parser.add_argument("--out", type=Path, default=Path("knuckle-demo"), metavar="DIR", help="folder to write to")


def _inputs(options: argparse.Namespace) -> list[Path]:
    """The input files of a command line, none of which may be overwritten."""
    named = [getattr(options, name, None) for name in ("file", "markers", "performer", "recipe", "rig")]
    return [Path(name) for name in (*named, *getattr(options, "mapping", ())) if name is not None]


def _info(options: argparse.Namespace) -> None:
    if options.save_markers is not None:
        expect_writable(options.save_markers, ".json", unlike=_inputs(options))
    chosen = cli_options.recipe_of(options)
    markers = assigning.read(chosen)
    try:
        labels = assigning.labelled(chosen, markers)
        found = assigning.assignment(chosen, labels.markers)
    except KnuckleError as problem:
        tips = assigning.tips_alone(chosen, markers) if chosen.labels != "names" else {}
        if not tips and (chosen.labels != "auto" or options.save_markers is not None):
            raise
        facts = summary(markers) | {"markers": {"problem": str(problem), "tips": tip_facts(tips)}}
        if options.save_markers is not None:
            named = {hand: {label: tip for label, (tip, _) in own.items()} for hand, own in tips.items()}
            write_json(options.save_markers, named)
    else:
        counts = {str(side): len(spots) for side, spots in found.hands.items()}
        facts = summary(markers) | {"markers": labels.facts | {"set": found.set_name, "hands": counts}}
        if options.save_markers is not None:
            write_json(options.save_markers, to_json({str(side): spots for side, spots in found.hands.items()}))
    print(json.dumps(facts, indent=2, ensure_ascii=False) if options.json else f"{as_text(facts)}\n{hands_text(facts)}")


def _solvers(_options: argparse.Namespace) -> None:
    print("\n".join([*SOLVER.as_lines(), *SMOOTHING.as_lines()]))


def _calibrate(options: argparse.Namespace) -> None:
    span, other = motion_of(options.motion)
    inputs = [*_inputs(options), *([Path(other)] if other is not None else [])]
    expect_writable(options.out, ".json", unlike=inputs)
    choices = CalibrationChoices(
        still=Span.parse(options.still) if options.still is not None else None,
        motion=span,
        motion_capture=other,
        fit=options.fit,
        radii=typed_radii(options.radii),
    )
    job = calibration.CalibrationJob(cli_options.recipe_of(options), choices)
    with progress_bar() as show:
        for progress in job.steps():
            show(progress.fraction, progress.doing)
    assert job.performer is not None
    write_json(options.out, performer.to_dict(job.performer))
    for side, measured in job.performer.hands.items():
        print(f"{side} hand: {1000 * measured.proportions.size:.0f} mm from wrist to middle fingertip")
        print("\n".join(f"  {line}" for line in measured.table()))
    for clip, text in job.performer.clips.items():
        print(f"  {clip}: {text}")
    for note in job.performer.notes:
        print(f"  note: {note}")


def _stream(options: argparse.Namespace) -> None:
    def solved() -> pipeline.Take:
        with progress_bar() as show:
            return _run(replace(cli_options.recipe_of(options), fps=options.rate), show)

    streams.stream(options, solved)


def _solve(options: argparse.Namespace) -> None:
    for path, suffix in ((options.out, ".blend"), (options.report, ".json"), (options.joints, ".npz")):
        if path is not None:
            expect_writable(path, suffix, unlike=_inputs(options))
    chosen = cli_options.recipe_of(options)
    api.expect_blender()
    from ..rig import blend_file

    wanted = blend_file.RigChoice.of(chosen)
    rig = blend_file.check_rig(chosen.rig, chosen.arm, wanted)
    with progress_bar() as show:
        take = _run(chosen, show, rig)
        show(0.9, "Keying")
        written = blend_file.new_scene_with_take(take, chosen.rig, wanted)
        report = _with_keying(take.report, written)
        # Either all files are written or none.
        with ExitStack() as files:
            if options.joints is not None:
                write_joints(files.enter_context(written_whole(options.joints)), take)
            if options.report is not None:
                write_json(files.enter_context(written_whole(options.report)), report)
            blend_file.save(files.enter_context(written_whole(options.out)))
        show(1.0, "Done")
    print(report_text(report, options.out))


def _pose(options: argparse.Namespace) -> None:
    poses.pose(options, _inputs(options))


def _with_keying(report: dict[str, Any], written: Any) -> dict[str, Any]:
    """The report with the time that keying took and the warnings about the rig."""
    seconds = report["seconds"] | {"key": round(written.seconds, 4)}
    return report | {"seconds": seconds, "warnings": [*report["warnings"], *written.notes]}


def _run(chosen: Recipe, show: Callable[[float, str], None], rig: Rig | None = None) -> pipeline.Take:
    job = pipeline.SolveJob(chosen, rig)
    for progress in job.steps():
        show(0.9 * progress.fraction, progress.doing)
    assert job.take is not None
    return job.take


def _demo(options: argparse.Namespace) -> None:
    api.expect_blender()
    from ..rig import blend_file, render

    make_folder(options.out)
    with progress_bar() as show:
        take = _run(Recipe(str(DEMO_CAPTURE)), show)
        show(0.3, "Keying")
        written = blend_file.new_scene_with_take(take)
        blend_file.save(options.out / "take.blend")
        report = _with_keying(take.report, written)
        write_json(options.out / "report.json", report)
        picture = render.usable_picture()
        show(0.4, "Rendering the video")
        render.take_video(options.out / "take.mp4", take, picture)
        show(0.8, "Rendering pictures")
        render.pose_pictures(options.out, picture)
        show(1.0, "Done")
    print(report_text(report, options.out))


if __name__ == "__main__":
    sys.exit(main())
