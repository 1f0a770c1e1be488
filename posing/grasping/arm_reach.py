"""The demands of a grasp on the arm: its reach, the position of the elbow, and the strain of its joints."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import Side

Floats = NDArray[np.float64]

COMFORTABLE_FLEXION, COMFORTABLE_DEVIATION, COMFORTABLE_PRONATION = np.deg2rad([35.0, 12.0, 55.0])
"""rad, comfortable limits of the wrist's flexion, its deviation, and the forearm's rotation from where the palm faces
the body."""
SWIVELS = np.deg2rad(np.linspace(-100.0, 100.0, 21))
"""rad, elbow swivel angles about the line from shoulder to wrist that are tried."""
SWIVEL_COST = 0.25
"""Cost of a radian of swivel, relative to one of the wrist."""
RAISE_COST = 1.0
"""Cost of a radian by which the upper arm is raised above the horizontal, relative to one of the wrist: people avoid
reaching with the elbow above the shoulder."""
NO_SWIVEL = np.zeros(1)
"""Swivels for an arm whose elbow is fixed by the rig."""


@dataclass(frozen=True, slots=True, eq=False)
class CarryingArm:
    """An arm that carries a hand."""

    shoulder: Floats
    """(3,) m"""
    upper: float
    """m, shoulder to elbow."""
    fore: float
    """m, elbow to wrist."""
    elbow: Floats
    """(3,) m, its current position; or (K, 3) m, positions with the wrist at each of `wrists`. They show on which side
    of the line from shoulder to wrist it is."""
    side: Side = "right"
    wrists: Floats | None = None
    """(K, 3) m"""
    swivels: Floats = field(default_factory=lambda: SWIVELS)
    """(S,) rad"""

    def shortfall(self, roots: Floats) -> Floats:
        """Return the distances (F,) m by which the arm fails to bring the wrist to roots (F, 4, 4)."""
        distances = np.linalg.norm(roots[:, :3, 3] - self.shoulder, axis=-1)
        missing: Floats = np.maximum(distances - self.upper - self.fore, abs(self.upper - self.fore) - distances)
        return np.maximum(missing, 0.0)

    def strain(self, roots: Floats) -> tuple[Floats, Floats]:
        """Return the arm's least strain (F,) rad at roots (F, 4, 4), and the elbow positions (F, 3) m for it.

        Strain is how far wrist flexion, deviation and forearm rotation exceed comfort, plus costs of raising the upper
        arm (Z is up) and of swivelling the elbow from its present side.
        """
        wrists = roots[:, :3, 3]
        elbows = self._elbows(wrists, self.swivels)
        hinges = np.cross(elbows - self.shoulder, wrists - elbows) * self._sign
        strains = _wrist_excess(wrists - elbows, roots[:, :3, :3]) + _forearm_excess(
            wrists - elbows, hinges, roots[:, :3, 2]
        )
        raised = np.arcsin(np.clip((elbows - self.shoulder)[..., 2] / self.upper, 0.0, 1.0))
        strains += SWIVEL_COST * np.abs(self.swivels)[:, None] + RAISE_COST * raised
        best = strains.argmin(axis=0)
        rows = np.arange(len(roots))
        return strains[best, rows], elbows[best, rows]

    def comfortable_rotation(self, position: Floats) -> Floats:
        """Return the rotation (3, 3) of a hand at (3,) m that is in line with its forearm and faces the body."""
        root = np.eye(4)[None]
        root[0, :3, 3] = position
        elbow = self._elbows(root[:, :3, 3], np.zeros(1))[0, 0]
        hinge = np.cross(elbow - self.shoulder, position - elbow) * self._sign
        # With a straight arm the elbow's axis is undefined; any perpendicular direction will do.
        back = _across(hinge[None], rot.unit_or_zero(position - elbow)[None])[0]
        rotation: Floats = rot.frame_from_yz(position - elbow, back)
        return rotation

    @property
    def _sign(self) -> float:
        """Return 1 for a right arm, whose elbow axis points out of the back of the hand if the palm faces the body;
        else −1."""
        return 1.0 if self.side == "right" else -1.0

    def _elbows(self, wrists: Floats, swivels: Floats) -> Floats:
        """Return elbow positions (S, F, 3) m for wrists (F, 3) and swivels (S,) rad.

        They are on the circle in which the spheres of upper arm and forearm intersect.
        """
        to_wrists = wrists - self.shoulder
        distances = np.maximum(np.linalg.norm(to_wrists, axis=-1, keepdims=True), 1e-9)
        directions = to_wrists / distances
        reach = np.clip(distances, abs(self.upper - self.fore) + 1e-9, self.upper + self.fore - 1e-9)
        upper_part = (reach**2 + self.upper**2 - self.fore**2) / (2 * reach)
        radii = np.sqrt(np.maximum(self.upper**2 - upper_part**2, 0.0))
        first = _across(self._sides(wrists), directions)
        second = np.cross(directions, first)
        cosine, sine = np.cos(swivels)[:, None, None], np.sin(swivels)[:, None, None]
        elbows: Floats = self.shoulder + upper_part * directions + radii * (cosine * first + sine * second)
        return elbows

    def _sides(self, wrists: Floats) -> Floats:
        """Return vectors (F, 3) m from the shoulder to the side on which the elbow is for wrists (F, 3)."""
        if self.wrists is None:
            return np.broadcast_to(self.elbow - self.shoulder, wrists.shape)
        nearest = np.linalg.norm(wrists[:, None] - self.wrists, axis=-1).argmin(axis=1)
        sides: Floats = self.elbow[nearest] - self.shoulder
        return sides


def _across(vectors: Floats, directions: Floats) -> Floats:
    """Return unit components (F, 3) of `vectors` perpendicular to `directions` (F, 3); any if there is none."""
    across = vectors - (directions * vectors).sum(axis=-1, keepdims=True) * directions
    length = np.linalg.norm(across, axis=-1, keepdims=True)
    unit: Floats = np.where(length > 1e-6, across / np.maximum(length, 1e-6), rot.perpendicular(directions))
    return unit


def _wrist_excess(forearms: Floats, hands: Floats) -> Floats:
    """Return the angles (..., F) rad by which wrists exceed comfort: hands (F, 3, 3) on forearms (..., F, 3)."""
    x, y, z = np.moveaxis(np.einsum("...fi,fij->...fj", rot.unit_or_zero(forearms), hands), -1, 0)
    flexion, deviation = np.abs(np.arctan2(z, y)), np.abs(np.arcsin(np.clip(x, -1.0, 1.0)))
    excess: Floats = np.maximum(flexion - COMFORTABLE_FLEXION, 0.0) + np.maximum(deviation - COMFORTABLE_DEVIATION, 0.0)
    return excess


def _forearm_excess(forearms: Floats, hinges: Floats, backs: Floats) -> Floats:
    """Return the angles (..., F) rad by which forearms (..., F, 3) are rotated beyond comfort.

    hinges: (..., F, 3) the elbows' axes, whose length grows with flexion. backs: (F, 3) directions of the hands' backs.
    """
    along = rot.unit_or_zero(forearms)
    across = backs - (along * backs).sum(axis=-1, keepdims=True) * along
    cosine = np.clip((rot.unit_or_zero(hinges) * rot.unit_or_zero(across)).sum(axis=-1), -1.0, 1.0)
    # The straighter the arm, the less certain is the elbow's axis.
    certainty = np.minimum(1.0, 4.0 * np.linalg.norm(hinges, axis=-1) / np.maximum((forearms**2).sum(axis=-1), 1e-18))
    excess: Floats = certainty * np.maximum(np.arccos(cosine) - COMFORTABLE_PRONATION, 0.0)
    return excess


def nearby_rotations(rotation: Floats) -> list[Floats]:
    """Return rotations (3, 3): the given one, and it rotated by three angles about twelve axes."""
    golden = (1 + np.sqrt(5)) / 2
    axes = [rot.unit_vector(np.roll([0.0, a, b * golden], k)) for k in range(3) for a in (-1, 1) for b in (-1, 1)]
    angles = (0.35, 0.8, 1.3)
    return [
        rotation,
        *(rot.to_matrix(rot.from_axis_angle(axis, angle)) @ rotation for angle in angles for axis in axes),
    ]
