"""A palm at rest on a surface: it touches on its heel and both sides of its pads, is not in it, and moves no more."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from knuckle.errors import RecipeError
from knuckle.hand import proportions
from knuckle.hand import rotations as rot
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.contacts.held_motion import MAX_ROTATION
from knuckle.pipeline.contacts.held_wrist import MAX_SHIFT, angle_and_distance, held_wrist
from knuckle.pipeline.contacts.rest_palm import PalmSkin, palm_skin, rest_on_surface
from knuckle.pipeline.corrections.correction import Correction, HeldOnObject, PalmPlace, TimeRange
from knuckle.pipeline.corrections.correction_json import from_list, to_list
from knuckle.posing.grasping.skin_samples import fitted_skin, thinned

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Slab:
    """Between two planes across +Z, the upper one through the origin, turned and moved by `frame`."""

    thickness: float
    frame: Floats

    def nearest(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        local = (points - self.frame[:3, 3]) @ self.frame[:3, :3]
        above = local[:, 2] > -self.thickness / 2
        feet, out = local.copy(), np.zeros_like(local)
        feet[:, 2], out[:, 2] = np.where(above, 0.0, -self.thickness), np.where(above, 1.0, -1.0)
        far = np.where(above, local[:, 2], -self.thickness - local[:, 2])
        return feet @ self.frame[:3, :3].T + self.frame[:3, 3], out @ self.frame[:3, :3].T, far


@dataclass(frozen=True)
class Ball:
    """About a centre."""

    centre: Floats
    radius: float

    def nearest(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        away = points - self.centre
        far = np.linalg.norm(away, axis=1)
        out = away / far[:, None]
        return self.centre + self.radius * out, out, far - self.radius


@pytest.fixture(scope="module")
def palm() -> PalmSkin:
    hand = proportions.build(proportions.adult("right"))
    skin = thinned(fitted_skin(hand), 3e-3)
    own = skin.subset(np.flatnonzero(skin.digit < 0))
    return palm_skin(own, Pose.at_origin(hand, np.zeros((1, hand.dofs))))


def frame(turn: tuple[float, float, float], place: tuple[float, float, float]) -> Floats:
    made, vector = np.eye(4), np.array(turn)
    made[:3, :3] = rot.to_matrix(rot.from_axis_angle(rot.unit_vector(vector), np.linalg.norm(vector)))
    made[:3, 3] = place
    return made


STARTS = [frame((0.0, 0.0, 0.0), (0.0, 0.0, 0.05)), frame((0.2, -0.15, 0.4), (0.1, 0.0, 0.01))]


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("thickness", [0.02, 1.0])
def test_a_palm_lies_flat_on_a_slab_from_above_and_from_within_it(
    palm: PalmSkin, start: Floats, thickness: float
) -> None:
    slab = Slab(thickness, np.eye(4))
    at = rest_on_surface(palm, slab, start)
    assert at is not None
    height = palm.transformed(at)[:, 2]
    assert height.min() > -0.2e-3
    lowest = sorted(height[palm.region == region].min() for region in range(3))
    assert lowest[0] < 0.5e-3 and lowest[2] < 3e-3
    again = rest_on_surface(palm, slab, at)
    assert again is not None
    angle, shift = angle_and_distance(at, again)
    assert angle < np.deg2rad(0.2) and shift < 0.2e-3, "it is at rest"
    # It turns to lie flat and goes down, and neither slides nor turns on the table.
    middle = palm.middle
    assert np.linalg.norm((at @ [*middle, 1.0] - start @ [*middle, 1.0])[:2]) < 0.02
    heading = [np.arctan2(*each[:2, 1]) for each in (start, at)]
    assert abs(heading[0] - heading[1]) < np.deg2rad(6.0)


def test_it_rests_in_the_same_way_wherever_the_surface_is(palm: PalmSkin) -> None:
    moved = frame((0.7, 0.3, -1.2), (0.4, -0.2, 1.1))
    here, there = (
        rest_on_surface(palm, Slab(1.0, np.eye(4)), STARTS[1]),
        rest_on_surface(palm, Slab(1.0, moved), moved @ STARTS[1]),
    )
    assert here is not None and there is not None
    angle, shift = angle_and_distance(there, moved @ here)
    assert angle < np.deg2rad(0.3) and shift < 0.3e-3


@pytest.mark.parametrize("height", [-0.08, -0.05, 0.06, 0.15, 0.3])
def test_it_does_not_slide_on_a_table_that_is_far_or_that_it_is_deep_in(palm: PalmSkin, height: float) -> None:
    """Tilted by 8 degrees against the palm, and both against the axes of the world."""
    world = frame((0.5, -0.4, 1.1), (0.0, 0.0, 0.0))
    table = world @ frame((np.deg2rad(8.0), 0.0, 0.0), (0.0, 0.0, 0.0))
    start = world @ frame((0.0, 0.0, 0.0), (0.0, 0.0, height))
    at = rest_on_surface(palm, Slab(1.0, table), start)
    assert at is not None
    assert abs(Slab(1.0, table).nearest(palm.transformed(at))[2].min()) < 0.2e-3, "it touches"
    moved = palm.transformed(at).mean(axis=0) - palm.transformed(start).mean(axis=0)
    assert np.linalg.norm((moved @ table[:3, :3])[:2]) < 4e-3, "and went along the table's normal"


def test_it_touches_a_ball_and_is_not_in_it(palm: PalmSkin) -> None:
    for radius in (0.06, 0.2):
        ball = Ball(np.array([0.0, 0.05, -radius - 0.05]), radius)
        at = rest_on_surface(palm, ball, np.eye(4))
        assert at is not None
        far = ball.nearest(palm.transformed(at))[2]
        assert -0.2e-3 < far.min() < 0.5e-3


def test_a_palm_that_faces_away_rests_nowhere(palm: PalmSkin) -> None:
    assert rest_on_surface(palm, Slab(1.0, np.eye(4)), frame((np.pi, 0.0, 0.0), (0.0, 0.0, 0.2))) is None


def test_a_wrist_comes_to_its_place_and_leaves_it_without_a_leap() -> None:
    count, rows = 60, np.arange(60)
    frames = np.stack([frame((0.02 * np.sin(row / 9), 0.0, 0.0), (0.001 * row, 0.0, 0.06)) for row in rows])
    place = frame((0.3, 0.1, 0.0), (0.03, 0.0, 0.0))
    full = (rows >= 5) & (rows < 55)
    held = held_wrist(frames, place, full=full, continues=(True, True))
    first, last = held.rows.bounds
    assert 5 < first < last < 54, "the way needs more frames than the blends"
    np.testing.assert_array_equal(held.to_surface[first : last + 1], np.tile(place, (last - first + 1, 1, 1)))
    path = np.concatenate([frames[:1], held.to_surface, frames[-1:]])
    for before, after, own in zip(path[:-1], path[1:], [0, *rows[:-1], count - 1], strict=False):
        angle, shift = angle_and_distance(before, after)
        own_angle, own_shift = angle_and_distance(frames[own], frames[min(own + 1, count - 1)])
        assert angle < 1.1 * MAX_ROTATION + own_angle and shift < 1.1 * MAX_SHIFT + own_shift
    short = held_wrist(frames[:5], place, full=full[5:10], continues=(True, True))
    assert short.rows.lacks_frames and sum(short.rows.blends) >= 5


def test_the_place_of_a_palm_is_kept_as_json_and_files_without_one_open() -> None:
    place = PalmPlace(np.array([0.1, -0.2, 0.3]), rot.unit_vector(np.array([1.0, 0.2, 0.0, -0.1])))
    one = Correction("c1", "Palm", "right", TimeRange(0.0, 1.0), HeldOnObject("Table", (), place))
    reported = to_list((one,))
    (read,) = from_list(reported, "here")
    assert isinstance(read.change, HeldOnObject) and read.change.palm is not None
    np.testing.assert_allclose(read.change.palm.place, place.place, atol=1e-6)
    np.testing.assert_allclose(read.change.palm.turn, place.turn, atol=1e-6)
    assert "wrist" in read.change.joints and read.change.digits == ()
    assert to_list((read,)) == reported
    for palm, sentence in (
        (None, "points is"),
        ({"place": [0, 0, 0]}, "expected an object with place and turn"),
        ({"place": [0, 0, 0], "turn": [2, 0, 0, 0]}, "turn is 2 long"),
        ({"place": [0, 0, 1e10], "turn": [1, 0, 0, 0]}, "place is"),
    ):
        with pytest.raises(RecipeError, match=sentence):
            from_list([reported[0] | {"palm": palm}], "here")
