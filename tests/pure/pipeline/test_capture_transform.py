"""Where a capture stands in the scene: a take that is moved is the take, moved."""

import numpy as np
import pytest

from knuckle.api import joints
from knuckle.cli.commands import DEMO_CAPTURE, command_parser
from knuckle.cli.options import recipe_of
from knuckle.errors import RecipeError
from knuckle.pipeline.alignment import fit_alignment
from knuckle.pipeline.capture_transform import CaptureTransform, transform_of
from knuckle.pipeline.job import run
from knuckle.pipeline.recipe import Recipe, from_dict, to_dict
from knuckle.pipeline.rig_constraints import Frames

SOMEWHERE = CaptureTransform((1.0, -0.5, 2.0), (20.0, -35.0, 140.0), 1.5)


@pytest.mark.parametrize("mirror", [False, True])
def test_a_moved_capture_moves_the_hand_by_exactly_that(mirror):
    recipe = Recipe(str(DEMO_CAPTURE), end=20, mirror=mirror)
    still, moved = run(recipe), run(Recipe(str(DEMO_CAPTURE), end=20, mirror=mirror, transform=SOMEWHERE))
    matrix = SOMEWHERE.matrix()
    side = still.hands[0].side
    before, after = joints(still), joints(moved)
    expected = before[f"{side}_positions"] @ matrix[:3, :3].T + matrix[:3, 3]
    assert np.abs(after[f"{side}_positions"] - expected).max() < 1e-12
    assert (after[f"{side}_angles"] == before[f"{side}_angles"]).all()
    figures = [take.report["hands"][side]["fingers"]["index-finger"]["tip_error_mm"]["mean"] for take in (still, moved)]
    assert figures[1] == pytest.approx(1.5 * figures[0], abs=2e-3), "errors are those of the scaled hand"
    assert (moved.markers.positions == still.markers.positions)[np.isfinite(still.markers.positions)].all()


@pytest.mark.parametrize("rotation", [(0.0, 0.0, 0.0), (10.0, 50.0, -160.0), (30.0, 90.0, 0.0), (-30.0, -90.0, 0.0)])
def test_a_matrix_gives_the_transform_that_it_was_made_of(rotation):
    placed = CaptureTransform((0.1, 0.2, -0.3), rotation, 0.01)
    again = transform_of(placed.matrix(), "test")
    assert np.abs(again.matrix() - placed.matrix()).max() < 1e-12
    assert again.scale == pytest.approx(0.01)


def test_what_is_no_place_of_a_capture_is_reported():
    with pytest.raises(RecipeError, match=r"markers 'a': its scale is 1, 2, 1 along its axes, expected the same"):
        transform_of(np.diag([1.0, 2.0, 1.0, 1.0]), "markers 'a'")
    with pytest.raises(RecipeError, match="its scale is 0, 0, 0"):
        transform_of(np.diag([0.0, 0.0, 0.0, 1.0]), "markers 'a'")
    with pytest.raises(RecipeError, match="finite angles and a scale"):
        CaptureTransform(scale=0.0)
    with pytest.raises(RecipeError, match="expected a location within 1000000 m"):
        CaptureTransform(location=(1e300, 0.0, 0.0))
    for part in ({"location": [1, 2]}, {"location": ["a", 2, 3]}, {"scale": [1, 1, 1]}, {"turn": [0, 0, 0]}):
        with pytest.raises(RecipeError, match=r"r\.json, transform: "):
            from_dict({"capture": "a", "transform": part}, "r.json")


def test_it_is_kept_by_a_recipe_and_typed_in_a_shell():
    recipe = Recipe("a", transform=SOMEWHERE)
    assert from_dict(to_dict(recipe), "test") == recipe
    typed = ["solve", "a", "--out", "b.blend", "--location", "1", "-0.5", "2", "--rotation", "20", "-35", "140"]
    assert recipe_of(command_parser().parse_args([*typed, "--scale", "1.5"])).transform == SOMEWHERE


def test_one_hand_is_aligned_exactly_and_two_as_near_as_can_be():
    frames: Frames = {
        "left": CaptureTransform((1.0, 0.0, 1.0), (0.0, 20.0, 70.0)).matrix(),
        "right": CaptureTransform((-1.0, 0.0, 1.0), (0.0, -20.0, 70.0)).matrix(),
    }
    moved = {side: SOMEWHERE.matrix() @ frame / [1.5, 1.5, 1.5, 1.0] for side, frame in frames.items()}
    for side, frame in frames.items():
        found = fit_alignment({side: frame}, moved) @ frame
        assert np.abs(found - moved[side]).max() < 1e-12
    apart = {side: np.array(frame) for side, frame in frames.items()}
    apart["left"][0, 3] += 0.2
    found = fit_alignment(frames, apart)
    assert found[:3, 3] == pytest.approx([0.1, 0.0, 0.0], abs=0.02) and np.allclose(found[:3, :3], np.eye(3), atol=0.02)
