"""Rotations, against scipy's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from knuckle.hand import rotations as rot

Rotation = pytest.importorskip("scipy.spatial.transform").Rotation

quaternions = (
    hnp.arrays(float, (6, 4), elements=st.floats(-1, 1))
    .filter(lambda q: (np.linalg.norm(q, axis=1) > 0.1).all())
    .map(lambda q: q / np.linalg.norm(q, axis=1, keepdims=True))
)


def theirs(q):
    return Rotation.from_quat(q, scalar_first=True)


@given(quaternions)
def test_matrices_and_back(q):
    matrices = rot.to_matrix(q)
    assert np.abs(matrices - theirs(q).as_matrix()).max() < 1e-12
    back = rot.from_matrix(matrices)
    assert (np.abs((back * q).sum(1)) > 1 - 1e-12).all()
    assert (back[:, 0] >= 0).all()


@given(quaternions, st.floats(0.1, 10))
def test_columns_are_those_of_the_matrices_whatever_the_length(q, length):
    assert np.abs(rot.to_matrix_transposed(length * q) - theirs(q).as_matrix().swapaxes(1, 2)).max() < 1e-12


@given(quaternions, quaternions)
def test_products_and_turned_vectors(a, b):
    assert np.abs(rot.to_matrix(rot.multiply(a, b)) - (theirs(a) * theirs(b)).as_matrix()).max() < 1e-12
    vectors = np.arange(18.0).reshape(6, 3)
    assert np.abs(rot.rotate(a, vectors) - theirs(a).apply(vectors)).max() < 1e-11
    assert np.abs(rot.rotate(rot.conjugate(a), rot.rotate(a, vectors)) - vectors).max() < 1e-11


@given(quaternions, st.floats(0.1, 10))
def test_the_shortest_rotation_is_by_the_angle_between_two_directions(q, length):
    source, target = q[:, 1:] + [0.0, 0.0, 2.0], length * q[:, :3] + [0.0, 20.0, 0.0]
    shortest = theirs(rot.shortest_rotation(source, target))
    met = shortest.apply(source)
    assert np.abs(np.cross(met, target)).max() < 1e-12 * 40
    assert ((met * target).sum(1) > 0).all()
    sine, cosine = np.linalg.norm(np.cross(source, target), axis=1), (source * target).sum(1)
    assert np.abs(shortest.magnitude() - np.arctan2(sine, cosine)).max() < 1e-12


@given(quaternions)
def test_opposite_directions_are_half_a_turn_apart_and_a_zero_one_turns_nothing(q):
    direction = q[:, 1:] + [0.0, 0.0, 2.0]
    assert np.abs(rot.rotate(rot.shortest_rotation(direction, -3.0 * direction), direction) + direction).max() < 1e-12
    for pair in ((direction, 0.0 * direction), (0.0 * direction, direction)):
        assert np.array_equal(rot.shortest_rotation(*pair), np.tile(rot.IDENTITY, (6, 1)))


@given(quaternions, hnp.arrays(bool, 6))
def test_continuous_keeps_the_rotations_and_takes_the_short_way(q, flips):
    result = rot.make_continuous(np.where(flips[:, None], -q, q))
    assert np.allclose(np.abs((result * q).sum(1)), 1)
    assert ((result[1:] * result[:-1]).sum(1) >= -1e-12).all()


@given(quaternions, st.integers(3, 8), st.integers(0, 999))
def test_a_rigid_move_is_found_again(q, count, seed):
    rng = np.random.default_rng(seed)
    source, place = rng.normal(size=(6, count, 3)), rng.normal(size=(6, 1, 3))
    target = rot.rotate(q[:, None], source) + place
    moves = rot.fit_rigid(source, target, rng.uniform(0.5, 2, (6, count)))
    assert np.abs(moves[:, :3, :3] - theirs(q).as_matrix()).max() < 1e-7
    assert np.abs(moves[:, :3, 3] - place[:, 0]).max() < 1e-7


@given(st.integers(0, 999))
def test_a_mirrored_set_is_turned_and_never_reflected(seed):
    source = np.random.default_rng(seed).normal(size=(1, 5, 3))
    moves = rot.fit_rigid(source, source * [-1.0, 1.0, 1.0], np.ones((1, 5)))
    assert np.linalg.det(moves[0, :3, :3]) > 0.999


def test_points_in_a_line_and_in_one_place_give_a_finite_move():
    line = np.outer(np.arange(4.0), [1.0, 2.0, 3.0])[None]
    for source, target in ((line, line * 2), (line * 0, line * 0), (line, line * 0)):
        moves = rot.fit_rigid(source, target, np.ones((1, 4)))
        assert np.isfinite(moves).all()
        assert abs(np.linalg.det(moves[0, :3, :3]) - 1) < 1e-9


@given(hnp.arrays(float, 3, elements=st.floats(-1e3, 1e3, allow_subnormal=False)))
def test_a_unit_vector_has_length_one_and_its_direction_but_for_a_zero_one(vector):
    unit = rot.unit_vector(vector)
    assert np.linalg.norm(unit) == pytest.approx(1.0) if vector.any() else not unit.any()
    assert np.abs(unit * np.linalg.norm(vector) - vector).max() < 1e-9


@given(quaternions)
def test_unit_vectors_are_along_the_last_axis(q):
    units = rot.unit_vectors(q.reshape(2, 3, 4) * np.arange(1.0, 7.0).reshape(2, 3, 1))
    assert np.abs(units - q.reshape(2, 3, 4)).max() < 1e-12
