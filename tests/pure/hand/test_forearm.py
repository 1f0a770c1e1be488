"""Forearms of skeletons, which turn about themselves where a person pronates, or do not."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from knuckle.hand import rotations as rot
from knuckle.hand.forearm import arms_are_symmetric, remove_pronation

SEEDS = range(5)


def wxyz(rotation: Rotation) -> np.ndarray:
    """A rotation of scipy as the project has it."""
    return rot.from_matrix(rotation.as_matrix())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("bend", [0.0, 80.0, 150.0])
def test_a_forearm_that_bends_and_turns_about_itself_counts_as_one_that_only_bends(seed: int, bend: float) -> None:
    random = np.random.default_rng(seed)
    along = np.array([0.2, 1.0, -0.1]) / np.linalg.norm([0.2, 1.0, -0.1])
    hinge = np.cross(along, random.normal(size=3))
    upper = Rotation.random(random_state=seed)
    bent = upper * Rotation.from_rotvec(np.deg2rad(bend) * hinge / np.linalg.norm(hinge))
    turns = Rotation.from_rotvec(np.linspace(-2.0, 2.0, 9)[:, None] * along)
    found = remove_pronation(wxyz(upper), wxyz(bent * turns), along)
    assert np.abs(rot.to_matrix(found) - bent.as_matrix()).max() < 1e-9


def test_where_the_upper_arm_is_not_known_a_forearm_counts_as_it_is() -> None:
    forearm = wxyz(Rotation.random(4, random_state=1))
    assert np.abs(remove_pronation(forearm, forearm) - forearm).max() < 1e-12


def test_it_goes_smoothly_through_a_straight_elbow() -> None:
    angles = np.linspace(-0.5, 0.5, 201)
    fore = wxyz(Rotation.from_rotvec(angles[:, None] * [1.0, 0.0, 0.0]) * Rotation.from_rotvec([0.0, 1.2, 0.0]))
    found = remove_pronation(np.broadcast_to(rot.IDENTITY, fore.shape), fore)
    steps = rot.angles_between(found[1:], found[:-1])
    assert steps.max() < 1.01 * (angles[1] - angles[0])


ARM = np.array([[0.4, 0.0, 1.4], [0.66, 0.0, 1.4], [0.75, -0.03, 1.41], [0.76, 0.0, 1.43], [0.74, 0.04, 1.4]])
"""(5, 3) m: elbow, wrist and knuckles of a left arm that is held to the side."""


@pytest.mark.parametrize(
    ("about", "degrees", "alike"),
    [(0, 0, True), (0, 60, False), (0, -60, False), (0, 180, False), (1, 45, False), (2, 45, False)],
)
@pytest.mark.parametrize(("forearm", "hand"), [(1.0, 1.0), (0.8, 1.0), (1.0, 1.3), (1.2, 0.8)])
def test_arms_rest_alike_whatever_their_lengths_are(
    forearm: float, hand: float, about: int, degrees: float, alike: bool
) -> None:
    """Of a right arm with other lengths, rotated at its elbow or about itself, against the left one's mirror image."""
    turned = Rotation.from_rotvec(np.deg2rad(degrees) * np.eye(3)[about])
    elbow, wrist = ARM[:2]
    points = np.vstack([elbow, elbow + turned.apply(forearm * (wrist - elbow) + hand * (ARM[1:] - wrist))])
    assert arms_are_symmetric(ARM, points * [-1.0, 1.0, 1.0]) == alike
