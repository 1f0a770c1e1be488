"""The commands of `knuckle`, and the parser of its command line."""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import api
from ..capture.markers import Markers
from ..capture.summary import as_text, summary
from ..errors import KnuckleError
from ..files import FileError, expect_writable, make_folder, write_json
from ..hand.generators import run_to_end
from ..hand.marker_sets import to_json
from ..pipeline import assignment as assigning
from ..pipeline import calibration, marker_learning, performer
from ..pipeline import job as pipeline
from ..pipeline.calibration_choices import CalibrationChoices, FrameRange, MotionClip, parse_radii
from ..pipeline.evidence.conditions import Condition, Outcome, outcomes, parse_conditions
from ..pipeline.pieces.pool import usual_processes
from ..pipeline.plausibility import implausible_lengths
from ..pipeline.prepared import solvable_hands
from ..pipeline.recipe import Recipe
from ..pipeline.rig_constraints import Rig
from ..pipeline.take import Take
from ..solvers import SMOOTHING, SOLVER
from ..take_files import (
    SolveChoices,
    TakeContent,
    TakeFiles,
    page_of_open_take,
    solve_to_files,
    with_keying,
    write_files,
)
from . import farm, poses, review, streams, video
from . import options as cli_options
from .output import hands_text, progress_bar, report_text, run_with_progress, tip_facts
from .terminal import TakeFailedError, exiting_on_signals, expect_replaceable, holding_interrupts, say

EPILOG = (
    "Exit status: 0 success, 1 a problem described in one sentence on stderr, 2 wrong usage, "
    "3 a take that was saved but meets a condition of --fail-on, or takes of a farm that failed."
)
JOINTS_SUFFIX = ".npz"
"""Suffix of --out for joints instead of a Blender file."""
Solved = tuple[dict[str, Any], Sequence[Outcome]]
"""The report of a take, and the outcomes of its conditions."""
DEMO_CAPTURE = Path(__file__).parents[1] / "data" / "leap_finger_tap.json"


def command_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line, with all commands."""
    parser = argparse.ArgumentParser(
        prog="knuckle", description="Solve recorded hands, and key and pose rigs.", epilog=EPILOG
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add_command(name: str, text: str, run: Callable[[argparse.Namespace], None]) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(name, help=text, description=text, epilog=EPILOG)
        command.set_defaults(run=run)
        return command

    info = add_command("info", "Print labels, rate, unit, duration and gaps of a capture.", _info)
    cli_options.add_info(info)
    labels = add_command("labels", "Learn a marker set from a labelled capture.", _labels)
    cli_options.add_labels_command(labels)
    calibrate = add_command("calibrate", "Measure a performer's hands on one capture or two.", _calibrate)
    cli_options.add_calibrate(calibrate)
    solve = add_command("solve", "Solve a capture and save a file with the keyed hand.", _solve)
    cli_options.add_solve(solve)
    review_command = add_command("review", "Write a report page of a take, or of two compared.", review.review)
    review.add_review(review_command)
    farm_command = add_command("farm", "Solve many takes, on all cores or on a cluster.", farm.farm)
    farm.add_farm(farm_command)
    pose = add_command("pose", "Put a rig's hands into a named pose, and save the file.", _pose)
    poses.add_pose(pose)
    add_command("solvers", "Print the solvers and smoothings with their settings.", _solvers)
    track = add_command("track", "Find the hands in a video, and write them as a capture.", video.track)
    video.add_track(track)
    add_command("devices", "Print the devices that can be followed live.", streams.devices)
    listen = add_command("listen", "Print what arrives from a device.", streams.listen)
    streams.add_listen(listen)
    stream = add_command("stream", "Solve a capture and send it as a device would.", _stream)
    cli_options.add_reading(stream)
    cli_options.add_hands(stream)
    streams.add_stream(stream)
    demo = add_command("demo", "Solve the bundled recording, and save the take, pictures and a video.", _demo)
    demo.add_argument("--out", type=Path, default=Path("knuckle-demo"), metavar="DIR", help="folder to write to")
    return parser


def _inputs(options: argparse.Namespace) -> list[Path]:
    """Return the input files of a command line, none of which may be overwritten."""
    paths = [getattr(options, name, None) for name in ("file", "markers", "performer", "corrections", "recipe", "rig")]
    return [Path(path) for path in (*paths, *getattr(options, "mapping", ())) if path is not None]


def _info(options: argparse.Namespace) -> None:
    if options.save_markers is not None:
        expect_writable(options.save_markers, ".json", unlike=_inputs(options))
    expect_replaceable([options.save_markers], options.force)
    recipe = cli_options.recipe_of(options)
    markers = assigning.read(recipe, run_to_end(api.reader(recipe)(recipe)))
    hand_facts, marker_map = _find_hands(options, recipe, markers)
    facts = summary(markers) | {"markers": hand_facts}
    if options.save_markers is not None:
        write_json(options.save_markers, marker_map)
    if options.json:
        # json.dumps escapes characters outside ASCII, which the output's encoding may not have.
        print(json.dumps(facts, indent=2))
    else:
        say(f"{as_text(facts)}\n{hands_text(facts)}")


def _find_hands(
    options: argparse.Namespace, recipe: Recipe, markers: Markers
) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """Return the facts about a capture's hands that `info` prints, and their marker map, both JSON-ready.

    Raises KnuckleError if there is no hand, and a marker map or labelling by names or shape was requested.
    """
    try:
        labels = assigning.label_markers(recipe, markers)
        assigned = assigning.assign_hands(recipe, labels.markers)
    except KnuckleError as problem:
        tips = assigning.find_lone_fingertips(recipe, markers) if recipe.labels != "names" else {}
        if not tips and (recipe.labels != "auto" or options.save_markers is not None):
            raise
        tip_map = {hand: {label: tip for label, (tip, _) in hand_tips.items()} for hand, hand_tips in tips.items()}
        return {"problem": str(problem), "tips": tip_facts(tips)}, tip_map
    marker_map = to_json({str(side): spots for side, spots in assigned.hands.items()})
    try:
        performer_hands, assigned = run_to_end(solvable_hands(recipe, labels.markers))
    except KnuckleError as problem:
        return {"problem": str(problem), "tips": {}}, marker_map
    counts = {str(side): len(spots) for side, spots in assigned.hands.items()}
    doubts = [implausible_lengths(hand.proportions, markers.unit) for hand in performer_hands.hands.values()]
    notes = [*assigned.warnings, *filter(None, doubts)]
    return labels.facts | {"set": assigned.set_name, "hands": counts, "notes": notes}, marker_map


def _labels(options: argparse.Namespace) -> None:
    expect_writable(options.out, ".json", unlike=_inputs(options))
    expect_replaceable([options.out], options.force)
    recipe = cli_options.recipe_of(options)
    groups, notes = marker_learning.learn_markers(recipe, api.reader(recipe))
    write_json(options.out, to_json(groups))
    for side, spots in groups.items():
        say(f"{side} hand: learnt where its {len(spots)} markers sit")
    for note in notes:
        say(f"  note: {note}")


def _solvers(_options: argparse.Namespace) -> None:
    say("\n".join([*SOLVER.as_lines(), *SMOOTHING.as_lines()]))


def _calibrate(options: argparse.Namespace) -> None:
    clips = [MotionClip.parse(text) for text in options.motion] or [MotionClip()]
    inputs = [*_inputs(options), *(Path(clip.capture) for clip in clips if clip.capture is not None)]
    expect_writable(options.out, ".json", unlike=inputs)
    expect_replaceable([options.out], options.force)
    choices = CalibrationChoices(
        still=FrameRange.parse(options.still) if options.still is not None else None,
        motions=tuple(clips),
        fit=options.fit,
        radii=parse_radii(options.radii),
    )
    recipe = cli_options.recipe_of(options)
    job = calibration.CalibrationJob(recipe, choices, api.reader(recipe))
    with progress_bar() as update_progress:
        run_with_progress(job.steps(), update_progress)
    assert job.performer is not None
    write_json(options.out, performer.to_dict(job.performer))
    for side, measured in job.performer.hands.items():
        say(f"{side} hand: {1000 * measured.proportions.size:.0f} mm from wrist to middle fingertip")
        say("\n".join(f"  {line}" for line in measured.table()))
    for clip, text in job.performer.clips.items():
        say(f"  {clip}: {text}")
    for note in job.performer.notes:
        say(f"  note: {note}")


def _stream(options: argparse.Namespace) -> None:
    def solve() -> Take:
        with progress_bar() as update_progress:
            return _run(replace(cli_options.recipe_of(options), fps=options.rate), update_progress)

    streams.stream(options, solve)


def _solve(options: argparse.Namespace) -> None:
    out_suffix = JOINTS_SUFFIX if options.out.suffix.lower() == JOINTS_SUFFIX else ".blend"
    suffixes = {"out": out_suffix, "report": ".json", "joints": ".npz", "evidence": ".npz", "html": ".html"}
    outputs = {name: path for name in suffixes if (path := getattr(options, name)) is not None}
    for name, path in outputs.items():
        expect_writable(path, suffixes[name], unlike=_inputs(options))
    if out_suffix == JOINTS_SUFFIX and "joints" in outputs:
        raise FileError(f"{options.out} and {options.joints}: both would contain the joints, expected one of them")
    joints = outputs.get("joints", options.out)
    if options.evidence is not None and joints.resolve() == options.evidence.resolve():
        raise FileError(f"{joints}: would contain both joints and evidence, expected a file for each")
    expect_replaceable(outputs.values(), options.force)
    conditions = parse_conditions(options.fail_on) if options.fail_on is not None else ()
    recipe = cli_options.recipe_of(options)
    solve = _solve_joints if out_suffix == JOINTS_SUFFIX else _solve_blend
    report, results = solve(options, recipe, conditions)
    say(report_text(report, options.out))
    if failed := [str(outcome) for outcome in results if outcome.failed]:
        raise TakeFailedError(f"the take was saved, but fails: {'; '.join(failed)}")


def _solve_joints(options: argparse.Namespace, recipe: Recipe, conditions: tuple[Condition, ...]) -> Solved:
    """Solve a take and write its joints. Blender is not needed, and a long take is solved in pieces."""
    if recipe.rig != "default":
        raise FileError(
            f"{options.out}: contains the performer's joints, expected a .blend file to key {recipe.rig} in"
        )
    files = TakeFiles(options.out, options.evidence, options.html, options.report)
    choices = SolveChoices(options.out.stem, usual_processes(), conditions, html=options.html is not None)
    with exiting_on_signals(), progress_bar() as update_progress:
        solved = run_with_progress(solve_to_files(recipe, files, choices), update_progress)
        update_progress(1.0, "Done")
    return dict(solved.content.report), solved.judged


def _solve_blend(options: argparse.Namespace, recipe: Recipe, conditions: tuple[Condition, ...]) -> Solved:
    """Solve a take and save the Blender file with its keys."""
    with holding_interrupts():
        api.expect_blender()
    from ..rig import blend_file

    rig_choice = blend_file.RigChoice.of(recipe)
    rig = blend_file.check_rig(recipe.rig, recipe.drive, rig_choice, recipe.into)
    recipe = blend_file.with_kept_corrections(recipe, rig_choice)
    with progress_bar() as update_progress:
        take = _run(recipe, update_progress, rig)
        update_progress(0.9, "Keying")
        written = blend_file.new_scene_with_take(take, recipe.rig, rig_choice)
        report = with_keying(take.report, written)
        results = outcomes(conditions, take.evidence, take.problems)
        html = ""
        if options.html is not None:
            update_progress(0.95, "Rendering the worst frames")
            html = page_of_open_take(written.armatures[0], options.out.stem, results)
        files = TakeFiles(options.joints, options.evidence, options.html, options.report, options.out)
        write_files(files, TakeContent(take, report, html))
        update_progress(1.0, "Done")
    return report, results


def _pose(options: argparse.Namespace) -> None:
    poses.pose(options, _inputs(options))


def _run(recipe: Recipe, update_progress: Callable[[float, str], None], rig: Rig | None = None) -> Take:
    job = pipeline.SolveJob(recipe, rig, reader=api.reader(recipe))
    for progress in job.steps():
        update_progress(0.9 * progress.fraction, progress.description)
    assert job.take is not None
    return job.take


def _demo(options: argparse.Namespace) -> None:
    with holding_interrupts():
        api.expect_blender()
    from ..rig import blend_file, render

    make_folder(options.out)
    with progress_bar() as update_progress:
        take = _run(Recipe(str(DEMO_CAPTURE)), update_progress)
        update_progress(0.3, "Keying")
        written = blend_file.new_scene_with_take(take)
        blend_file.save(options.out / "take.blend")
        report = with_keying(take.report, written)
        write_json(options.out / "report.json", report)
        picture = render.usable_settings()
        update_progress(0.4, "Rendering the video")
        render.take_video(options.out / "take.mp4", take, picture)
        update_progress(0.8, "Rendering pictures")
        render.pose_pictures(options.out, picture)
        update_progress(1.0, "Done")
    say(report_text(report, options.out))
