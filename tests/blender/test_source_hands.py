"""Where an armature's fingers end that has no bones for their tips."""

import re
from pathlib import Path

import bpy
import numpy as np

from knuckle import capture
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import SIDES
from knuckle.hand.marker_sets import suggest
from knuckle.pipeline.recipe import Recipe
from knuckle.rig.sources.reading import read_capture
from knuckle.tests.blender.bvh_of_avatar import write_bvh
from knuckle.tests.pure.capture.devices.avatar import Avatar, fist


def test_tips_that_a_bvh_does_not_tell_are_the_same_through_blenders_importer(tmp_path: Path) -> None:
    bends = [(5.0 * number, 6.0 * number, 4.0 * number) for number in range(9)]
    path = tmp_path / "avatar.bvh"
    write_bvh(path, [Avatar(fist("Left", bend) | fist("Right", bend)) for bend in bends], 30.0)
    path.write_text(re.sub(r"(End Site\s*\{\s*OFFSET) [^}]*", r"\1 0.0 0.0 0.0\n", path.read_text()))
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
