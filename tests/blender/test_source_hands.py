"""Where an armature's fingers end that has no bones for their tips."""

import re
from pathlib import Path

import bpy
import numpy as np
import pytest

from knuckle import capture
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import SIDES
from knuckle.hand.marker_sets import suggest
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.sources.reading import read_capture
from knuckle.tests.blender.bvh_of_avatar import write_bvh
from knuckle.tests.pure.capture.devices.avatar import Avatar, blender, fist, turn


def test_tips_that_a_bvh_does_not_tell_are_the_same_through_blenders_importer(tmp_path: Path) -> None:
    bends = [(5.0 * number, 6.0 * number, 4.0 * number) for number in range(9)]
    path = tmp_path / "avatar.bvh"
    write_bvh(path, [Avatar(fist("Left", bend) | fist("Right", bend)) for bend in bends], 30.0)
    path.write_text(re.sub(r"(End Site\s*\{\s*OFFSET) [^}]*", r"\1 0.0 0.0 0.0\n", path.read_text()))
    assert_read_as_blender_imports_it(path)


@pytest.mark.parametrize(
    "thumb",
    [
        ("ThumbCarpal", "ThumbMetacarpal", "ThumbProximal", "ThumbDistal"),
        ("ThumbMetacarpal", "Thumb1", "Thumb2", "Thumb3"),
        ("InHandThumb", "HandThumb1", "HandThumb2", "HandThumb3"),
        ("ThumbBase", "Thumb", "Thumb2", "Thumb3"),
    ],
)
def test_of_two_bones_before_a_thumbs_mcp_the_outer_one_begins_at_the_cmc(
    thumb: tuple[str, ...], tmp_path: Path
) -> None:
    turns = {f"{side}ThumbProximal": turn((0, 1, 0), 20.0) for side in ("Left", "Right")}
    avatars, path = [Avatar({}), Avatar(turns), Avatar(fist("Left") | fist("Right") | turns)], tmp_path / "a.bvh"
    write_bvh(path, avatars, 30.0)
    lines = path.read_text().splitlines()
    for side in ("Left", "Right"):
        _carry_by_carpal_bone(lines, f"JOINT {side}ThumbProximal", f"JOINT {side}Carpal")
    text = "\n".join(lines)
    for made, called in zip(("Carpal", "ThumbProximal", "ThumbIntermediate", "ThumbDistal"), thumb, strict=True):
        text = re.sub(rf"JOINT (Left|Right){made}\n", rf"JOINT \1+{called}\n", text)
    path.write_text(text.replace("+", ""))
    own = assert_read_as_blender_imports_it(path)
    for side in SIDES:
        (cmc,) = (name for name, spot in suggest(own.names).groups[side].items() if spot.joint == "thumb-metacarpal")
        places = np.array([blender(avatar.places[f"{side.title()}ThumbProximal"]) for avatar in avatars])
        assert np.linalg.norm(own.positions[:, own.names.index(cmc)] - places, axis=-1).max() < 1e-4


def _carry_by_carpal_bone(lines: list[str], joint: str, carpal: str) -> None:
    """Let a bone that never turns lead half of the way to a joint."""
    begin = next(row for row, line in enumerate(lines) if line.endswith(joint))
    indent = lines[begin].removesuffix(joint)
    end = lines.index(indent + "}", begin)
    half = " ".join(str(float(number) / 2) for number in lines[begin + 2].split()[1:])
    lines[begin + 2] = f"OFFSET {half}"
    lines.insert(end, "}")
    lines[begin:begin] = [f"{indent}{carpal}", "{", f"OFFSET {half}", "CHANNELS 0"]


def assert_read_as_blender_imports_it(path: Path) -> capture.Markers:
    """Return what a BVH file's own reader reads: the joints are where they are through Blender's importer."""
    own = capture.read(path)
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 30, 1.0
    bpy.ops.import_anim.bvh(filepath=str(path), use_fps_scale=False)
    other = run_to_end(read_capture(Recipe(f"armature:{bpy.context.object.name}")))
    groups = suggest(own.names).groups
    for side in SIDES:
        for label, spot in groups[side].items():
            apart = (
                own.positions[:, own.names.index(label)] - other.positions[:, other.names.index(f"{side}:{spot.joint}")]
            )
            assert np.linalg.norm(apart, axis=-1).max() < 1e-4, label
    return own
