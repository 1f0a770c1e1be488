"""The Python API behind `import knuckle`: read a capture, solve it, key a rig, pose a hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .capture import Markers
from .capture.scene_files import needs_blender
from .errors import KnuckleError, RecipeError
from .files import expect_writable
from .hand.generators import run_to_end
from .hand.joints import SIDES
from .pipeline.assignment import Reader, read_file
from .pipeline.job import SolveJob
from .pipeline.joint_arrays import joint_arrays
from .pipeline.recipe import Recipe
from .pipeline.rig_constraints import Rig
from .pipeline.take import SolvedHand, Take

__all__ = ["KnuckleError", "Markers", "Recipe", "SolvedHand", "Take", "joints", "key", "pose", "read", "solve"]


def read(path: str | Path, *, unit: str = "auto", up: str = "auto") -> Markers:
    """Read a capture.

    Args:
        path: A C3D, TRC, CSV, TSV, BVH, JSON, handpose or rawtake file. With Blender's Python module also an FBX,
            glTF or USD file with an animated hand, or `armature:NAME` for an armature of the open scene.
        unit: The unit of length in the file, `m`, `dm`, `cm` or `mm`; `auto` goes by the file.
        up: The axis that points up in the file, such as `y` or `-z`; `auto` goes by the file.

    Returns:
        Markers over F frames: `names` (M,), `times` (F,) in seconds and `positions` (F, M, 3) in metres, Z up, NaN
        where a marker was not seen.

    Raises:
        KnuckleError: If the file cannot be read, in one sentence.
    """
    recipe = Recipe(str(path), unit=unit, up=up)
    return run_to_end(reader(recipe)(recipe))


def solve(capture: str | Path | Markers | Recipe, **choices: Any) -> Take:
    """Solve a capture: label its markers, measure the performer, and find the joint angles of every frame.

    Args:
        capture: A file's path, markers that were read or made, or a recipe.
        choices: Fields of a recipe, such as `solver="cga"`, `smoothing="whole"`, `fps=24` or `rig="body.blend"`. They
            override those of a recipe.

    Returns:
        The take: `hands`, each with its `side`, `hand` (model) and `pose`, `times` (F,) in seconds, `evidence` of each
        frame, `problems`, the worst first, and `report`.

    Raises:
        KnuckleError: If the capture holds no hand that can be solved, or a choice is not a field of a recipe.
    """
    markers = capture if isinstance(capture, Markers) else None
    if not isinstance(capture, Recipe):
        capture = Recipe(capture.source if isinstance(capture, Markers) else str(capture))
    try:
        recipe = replace(capture, **choices)
    except TypeError as error:
        unknown = sorted(choices.keys() - {*Recipe.__dataclass_fields__})
        raise RecipeError(f"{', '.join(unknown)}: not a field of a recipe") from error
    rig = _rig(recipe)
    job = SolveJob(_with_kept_corrections(recipe), rig, markers, reader(recipe))
    for _ in job.steps():
        pass
    assert job.take is not None
    return job.take


def reader(recipe: Recipe) -> Reader:
    """Return the function that reads a recipe's capture.

    Raises:
        KnuckleError: If only Blender can read it, and its Python module is not installed.
    """
    if not needs_blender(recipe.capture):
        return read_file
    _expect_module()
    from .rig.sources.reading import read_capture

    return read_capture


def _rig(recipe: Recipe) -> Rig | None:
    """Return the properties of a recipe's rig that solving needs; None for the hand that Knuckle builds."""
    if recipe.rig == "default":
        return None
    expect_blender()
    from .rig import blend_file

    return blend_file.check_rig(recipe.rig, recipe.drive, blend_file.RigChoice.of(recipe), recipe.into)


def _with_kept_corrections(recipe: Recipe) -> Recipe:
    """Return a recipe with the corrections of the take that its rig, which is open, plays, unless it has some."""
    if recipe.rig == "default":
        return recipe
    from .rig import blend_file

    return blend_file.with_kept_corrections(recipe, blend_file.RigChoice.of(recipe))


def joints(take: Take) -> dict[str, NDArray[Any]]:
    """Return the joints of a solved take as arrays, the same ones that `knuckle solve --joints` writes.

    Args:
        take: A solved take of F frames.

    Returns:
        `times` (F,) in seconds, and for each hand, here the left one: `left_positions` (F, 25, 3) in metres in the
        world, in WebXR's joint order; `left_rotations` (F, 25, 4), unit quaternions wxyz of the joint frames in the
        world, whose signs do not flip between frames; `left_predicted` (F, 25); `left_angles` (F, 26) in radians;
        `left_angle_names` (26,).
    """
    # The take keeps its own: poses compute their joints once.
    return {name: array.copy() for name, array in joint_arrays(take.times, take.hands).items()}


def key(take: Take, out: str | Path) -> tuple[str, ...]:
    """Key a take and save it as a Blender file. This replaces the file that is open in Blender's module.

    Args:
        take: A solved take. If it was solved for a `rig`, that rig's hands are keyed; otherwise a hand of the
            performer's size is built.
        out: The .blend file to write.

    Returns:
        Notes about the take on this rig, one sentence each.

    Raises:
        KnuckleError: If the rig or the file cannot be used. Nothing is written then.
    """
    path = Path(out)
    expect_writable(path, ".blend", unlike=[Path(take.recipe.capture), Path(take.recipe.rig)])
    expect_blender()
    from .rig import blend_file

    written = blend_file.new_scene_with_take(take, take.recipe.rig, blend_file.RigChoice.of(take.recipe))
    blend_file.save(path)
    return written.notes


def pose(
    name: str, out: str | Path, *, rig: str = "default", armature: str | None = None, hand: str = "both"
) -> tuple[str, ...]:
    """Set a named pose on a rig's hands and save a Blender file.

    This replaces the file that is open in Blender's module.

    Args:
        name: A pose, such as `fist` or `letter-a`; `knuckle pose --list` prints them all.
        out: The .blend file to write.
        rig: A .blend, .glb, .vrm or .fbx file with an armature; `default` builds a hand.
        armature: The armature's name, if several in the rig's file have hands.
        hand: `left`, `right` or `both`.

    Returns:
        Notes about the pose on this rig, one sentence each.

    Raises:
        KnuckleError: If there is no such pose, or the rig or the file cannot be used. Nothing is written then.
    """
    if hand not in (*SIDES, "both"):
        raise KnuckleError(f"hand is '{hand}', expected left, right or both")
    path = Path(out)
    expect_writable(path, ".blend", unlike=[Path(rig)])
    expect_blender()
    from .rig import blend_file
    from .rig.posing import posed_file

    sides = [side for side in SIDES if hand in (side, "both")]
    made = posed_file.new_file_posed(rig, blend_file.RigChoice.of(Recipe("", armature=armature)), sides, name)
    blend_file.save(path)
    return made.notes


def expect_blender() -> None:
    """Check that Blender's Python module is installed and runs without windows.

    Raises:
        KnuckleError: If it is not installed, or if it has windows, whose open file would be replaced.
    """
    _expect_module()
    from .rig import blend_file

    if not blend_file.in_background():
        raise KnuckleError("this replaces the open file: run it in Blender's Python module or by blender --background")


def _expect_module() -> None:
    """Raise KnuckleError if Blender's Python module is not installed."""
    try:
        import bpy  # noqa: F401, TID251
    except ModuleNotFoundError as error:
        raise KnuckleError(
            "Blender's Python module is not installed: pip install bpy, or blender --command knuckle"
        ) from error
