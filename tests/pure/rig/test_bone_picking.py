"""Which bone is under the mouse, against looking at every point of every bone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from knuckle.rig.bone_picking import PIXEL_TOLERANCE, bone_at

Floats = NDArray[np.float64]

SIZE = (800, 600)


def looking(distance: float = 5.0) -> Floats:
    """An eye at +Z that looks down −Z, as OpenGL projects."""
    near, far, focus = 0.1, 100.0, 2.0
    projection = np.zeros((4, 4))
    projection[0, 0], projection[1, 1] = focus * SIZE[1] / SIZE[0], focus
    projection[2, 2:] = (near + far) / (near - far), 2 * near * far / (near - far)
    projection[3, 2] = -1.0
    view = np.eye(4)
    view[2, 3] = -distance
    return projection @ view


def pixel(points: Floats, view: Floats) -> Floats:
    clip = points @ view[:, :3].T + view[:, 3]
    seen: Floats = (clip[..., :2] / clip[..., 3:] + 1) / 2 * np.array(SIZE)
    return seen


@given(seed=st.integers(0, 2**32 - 1), bones=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_it_is_the_nearest_of_all_points_of_all_bones(seed: int, bones: int) -> None:
    rng = np.random.default_rng(seed)
    ends, view, mouse = rng.normal(size=(2, bones, 3)), looking(), rng.uniform((0, 0), SIZE)
    shares = np.linspace(0.0, 1.0, 400)[:, None]
    points = ends[0, :, None] * (1 - shares) + ends[1, :, None] * shares
    apart = np.linalg.norm(pixel(points, view) - mouse, axis=-1).min(axis=1)
    found = bone_at(ends, view, SIZE, mouse, 60.0)
    if apart.min() > 61:
        assert found == -1
    if apart.min() < 59:
        assert found >= 0
        assert apart[found] < apart.min() + PIXEL_TOLERANCE + 2.0, (
            f"{apart[found]:.1f} px, nearest {apart.min():.1f} px"
        )


def test_of_two_bones_behind_each_other_the_nearer_one_is_meant() -> None:
    far = np.array([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0]])
    near = np.array([[-1.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    view, mouse = looking(), np.array([400.0, 300.0])
    assert bone_at(np.stack([far, near], axis=1), view, SIZE, mouse, 20.0) == 1
    assert bone_at(np.stack([near, far], axis=1), view, SIZE, mouse, 20.0) == 0


def test_of_bones_that_lie_on_each_other_the_shortest_is_meant() -> None:
    finger = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.3], [0.0, 1.8, 0.6]])
    whole = np.array([finger[0], finger[2]]) + (0.0, 0.0, 0.05)
    ends = np.stack([whole, finger[:2], finger[1:]], axis=1)
    view = looking()
    for bone in (1, 2):
        middle = ends[:, bone].mean(axis=0)
        assert bone_at(ends, view, SIZE, pixel(middle, view), 20.0) == bone
        assert bone_at(ends[:, ::-1], view, SIZE, pixel(middle, view), 20.0) == 2 - bone


def test_bones_behind_the_eye_are_not_pointed_at_and_those_that_reach_there_are_as_far_as_they_are_seen() -> None:
    view, mouse = looking(), np.array([400.0, 300.0])
    behind = np.array([[[0.0, 0.0, 8.0]], [[0.0, 0.1, 9.0]]])
    assert bone_at(behind, view, SIZE, mouse, 50.0) == -1
    through = np.array([[[0.0, 0.0, 0.0]], [[3.0, 0.0, 9.0]]])
    assert bone_at(through, view, SIZE, mouse, 5.0) == 0
    assert bone_at(through, view, SIZE, pixel(np.array([1.0, 0.0, 3.0]), view), 5.0) == 0
    assert bone_at(through, view, SIZE, np.array([10.0, 300.0]), 5.0) == -1, "what is left of it is behind the eye"


@pytest.mark.parametrize("bones", [0, 1])
def test_no_bones_and_bones_without_length(bones: int) -> None:
    ends = np.zeros((2, bones, 3))
    found = bone_at(ends, looking(), SIZE, np.array([403.0, 300.0]), 5.0)
    assert found == bones - 1
