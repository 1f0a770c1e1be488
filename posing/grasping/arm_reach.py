"""What an arm has to do to bring a hand to a grasp: whether it reaches, where its elbow goes, how its wrist bends."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ...hand import rotations as rot
from ...hand.joints import Side

Floats = NDArray[np.float64]

FLEXED, DEVIATED, TWISTED = np.deg2rad([35.0, 12.0, 55.0])
"""How far a wrist bends at ease, to the palm or the back, and to a side; and the forearm either way from where the hand
faces the body."""
SWIVELS = np.deg2rad(np.linspace(-100.0, 100.0, 21))
"""How far the elbow may go about the line from shoulder to wrist,"""
SWIVELLED = 0.25
"""and what each radian of it costs beside one of the wrist's."""
RAISED = 1.0
"""What each radian costs by which an upper arm is raised beyond the horizontal, beside one of the wrist's: nobody takes
hold of a thing with the elbow above the shoulder who need not."""
RIGID = np.zeros(1)
"""Of an elbow that is where the rig has it."""


@dataclass(frozen=True, slots=True, eq=False)
class Carrier:
    """An arm that carries a hand."""

    shoulder: Floats
    """(3,) m"""
    upper: float
    """m, shoulder to elbow."""
    fore: float
    """m, elbow to wrist."""
    elbow: Floats
    """(3,) m, where it is now; or (K, 3) m, on which side of the line from shoulder to wrist it is with the wrist at
    each of `wrists`."""
    side: Side = "right"
    wrists: Floats | None = None
    """(K, 3) m"""
    swivels: Floats = field(default_factory=lambda: SWIVELS)
    """(S,) rad"""

    def lacking(self, roots: Floats) -> Floats:
        """(F,) m, what it lacks to bring the wrist to roots (F, 4, 4)."""
        far = np.linalg.norm(roots[:, :3, 3] - self.shoulder, axis=-1)
        short: Floats = np.maximum(far - self.upper - self.fore, abs(self.upper - self.fore) - far)
        return np.maximum(short, 0.0)

    def strain(self, roots: Floats) -> tuple[Floats, Floats]:
        """(F,) rad, how far an arm is beyond ease at roots (F, 4, 4), and (F, 3) m where its elbow is then best.

        How far its wrist bends, its forearm is twisted and its upper arm raised above the shoulder, Z being up.

        From where the elbow would stay it swivels so that this is less.
        """
        wrists = roots[:, :3, 3]
        elbows = self._elbows(wrists, self.swivels)
        hinges = np.cross(elbows - self.shoulder, wrists - elbows) * self._sign
        beyond = _bent(wrists - elbows, roots[:, :3, :3]) + _twisted(wrists - elbows, hinges, roots[:, :3, 2])
        raised = np.arcsin(np.clip((elbows - self.shoulder)[..., 2] / self.upper, 0.0, 1.0))
        beyond += SWIVELLED * np.abs(self.swivels)[:, None] + RAISED * raised
        best = beyond.argmin(axis=0)
        each = np.arange(len(roots))
        return beyond[best, each], elbows[best, each]

    def at_ease(self, place: Floats) -> Floats:
        """(3, 3) how a hand at (3,) m is turned that is in line with its forearm and faces the body."""
        root = np.eye(4)[None]
        root[0, :3, 3] = place
        elbow = self._elbows(root[:, :3, 3], np.zeros(1))[0, 0]
        hinge = np.cross(elbow - self.shoulder, place - elbow) * self._sign
        # Of a straight arm nothing tells the elbow's axis.
        back = _across(hinge[None], _unit(place - elbow)[None])[0]
        turned: Floats = rot.basis(place - elbow, back)
        return turned

    @property
    def _sign(self) -> float:
        """Where the hand faces the body its back is along the elbow's axis, of a left arm the other way."""
        return 1.0 if self.side == "right" else -1.0

    def _elbows(self, wrists: Floats, swivels: Floats) -> Floats:
        """(S, F, 3) m, where elbows are with wrists (F, 3), swivelled by (S,) rad.

        On the circle in which the spheres of the upper arm about the shoulder and of the forearm about the wrist meet.
        """
        way = wrists - self.shoulder
        far = np.maximum(np.linalg.norm(way, axis=-1, keepdims=True), 1e-9)
        along = way / far
        reach = np.clip(far, abs(self.upper - self.fore) + 1e-9, self.upper + self.fore - 1e-9)
        part = (reach**2 + self.upper**2 - self.fore**2) / (2 * reach)
        out = np.sqrt(np.maximum(self.upper**2 - part**2, 0.0))
        first = _across(self._sides(wrists), along)
        second = np.cross(along, first)
        cosine, sine = np.cos(swivels)[:, None, None], np.sin(swivels)[:, None, None]
        elbows: Floats = self.shoulder + part * along + out * (cosine * first + sine * second)
        return elbows

    def _sides(self, wrists: Floats) -> Floats:
        """(F, 3) m from the shoulder, to which side elbows of arms are with wrists (F, 3)."""
        if self.wrists is None:
            return np.broadcast_to(self.elbow - self.shoulder, wrists.shape)
        nearest = np.linalg.norm(wrists[:, None] - self.wrists, axis=-1).argmin(axis=1)
        sides: Floats = self.elbow[nearest] - self.shoulder
        return sides


def _across(way: Floats, along: Floats) -> Floats:
    """(F, 3) unit, ways (F, 3) as far as they are across directions (F, 3); any where that is none."""
    across = way - (along * way).sum(axis=-1, keepdims=True) * along
    length = np.linalg.norm(across, axis=-1, keepdims=True)
    other = np.cross(along, np.eye(3)[np.abs(along).argmin(axis=-1)])
    other = other / np.linalg.norm(other, axis=-1, keepdims=True)
    unit: Floats = np.where(length > 1e-6, across / np.maximum(length, 1e-6), other)
    return unit


def _bent(forearms: Floats, turns: Floats) -> Floats:
    """(..., F) rad by which hands (F, 3, 3) are bent beyond ease, of forearms (..., F, 3)."""
    x, y, z = np.moveaxis(np.einsum("...fi,fij->...fj", _unit(forearms), turns), -1, 0)
    flexed, deviated = np.abs(np.arctan2(z, y)), np.abs(np.arcsin(np.clip(x, -1.0, 1.0)))
    beyond: Floats = np.maximum(flexed - FLEXED, 0.0) + np.maximum(deviated - DEVIATED, 0.0)
    return beyond


def _twisted(forearms: Floats, hinges: Floats, backs: Floats) -> Floats:
    """(..., F) rad by which forearms (..., F, 3) are twisted beyond ease, of elbows' axes (..., F, 3) as long as the
    elbow is bent, and hands whose backs face (F, 3)."""
    along = _unit(forearms)
    across = backs - (along * backs).sum(axis=-1, keepdims=True) * along
    cosine = np.clip((_unit(hinges) * _unit(across)).sum(axis=-1), -1.0, 1.0)
    # Of a straight arm nothing tells the elbow's axis.
    told = np.minimum(1.0, 4.0 * np.linalg.norm(hinges, axis=-1) / np.maximum((forearms**2).sum(axis=-1), 1e-18))
    beyond: Floats = told * np.maximum(np.arccos(cosine) - TWISTED, 0.0)
    return beyond


def _unit(ways: Floats) -> Floats:
    unit: Floats = ways / np.maximum(np.linalg.norm(ways, axis=-1, keepdims=True), 1e-12)
    return unit


def turns_about(now: Floats) -> list[Floats]:
    """Rotations (3, 3) around one: it itself, and by three angles about twelve axes."""
    golden = (1 + np.sqrt(5)) / 2
    axes = [rot.unit_vector(np.roll([0.0, a, b * golden], k)) for k in range(3) for a in (-1, 1) for b in (-1, 1)]
    angles = (0.35, 0.8, 1.3)
    return [now, *(rot.to_matrix(rot.about(axis, angle)) @ now for angle in angles for axis in axes)]
