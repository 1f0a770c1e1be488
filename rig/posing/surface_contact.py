"""What is dragged laid on a surface: the skin about it touches there, and not the bone inside."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, digit_of
from ...hand.kinematics import Pose, joint_frames, joint_position
from ...posing.dragging import DragStep
from ...posing.grasping.contact_frames import length
from ...posing.grasping.skin_samples import Flesh, thinned
from ..armature_hands import FoundHand
from .dragging import RigDrag, move
from .rig_skin import flesh_of

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

ABOUT = 0.13
"""Hand lengths: skin of the palm that is so near to a knuckle is the skin about it."""
FLAT, MET = 1e-12, 1e-4
"""A matrix with a smaller determinant has no inverse; m at which a mesh is where the mouse met it."""
SPACING = 0.011
"""Hand lengths between the points of skin that are laid on."""
BESIDE = 0.02
"""Hand lengths: skin so near to the line through what is dragged and its place stays above that place, however thin it
is there."""
LIFT = 1e-3
"""Hand lengths by which skin is lifted before it is let down: what touches would be below the surface by rounding."""
ROUNDS = 4
"""Times that a digit is laid on: how thick it is there depends on how it comes to lie."""
STAYS = 5e-4
"""Hand lengths, a tenth of a millimetre of an adult's: it came to lie as it was laid."""


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceHit:
    """What is under the mouse. Holds an object of Blender's: not to be kept."""

    obj: "Object"
    matrix: Matrix
    """How it, or the instance of it that is seen, stands in the world."""
    place: Floats
    """(3,) m in the world,"""
    normal: Floats
    """(3,) and what is up there, unit, on the side that is seen."""


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """What is dragged, with the skin about it: that of the phalanx that ends there."""

    dragged: RigDrag
    skin: Flesh

    def lay(self, on: SurfaceHit, last: DragStep | None = None) -> tuple[DragStep, Floats]:
        """Poses the hand with the skin on a surface, what is dragged above its place.

        last, raises: as dragging.move. Returns also (3,) m in the world, where what is dragged was brought for that.
        """
        ground, step = _ground(on), last
        thick = self._thickness(last.pose if last else self.dragged.start.pose, on, ground)
        for _ in range(ROUNDS):
            step = self.dragged.drag.step(on.place + thick * on.normal, step)
            before, thick = thick, self._thickness(step.pose, on, ground)
            if abs(thick - before) < STAYS * length(step.pose.hand):
                break
        goal = on.place + thick * on.normal
        return move(self.dragged, goal, last), goal

    def _thickness(self, pose: Pose, on: SurfaceHit, ground: "_Ground | None") -> float:
        """m above its place on a surface at which what is dragged touches with its skin, as it is turned in a pose."""
        size, points = length(pose.hand), self.skin.moved(joint_frames(pose.hand, pose))[0]
        if not len(points):
            return 0.0
        away = points - joint_position(pose, self.dragged.drag.joint)[0]
        up = away @ on.normal
        on_plane = float(-up.min())
        if ground is None:
            return on_plane
        beside = np.linalg.norm(away - up[:, None] * on.normal, axis=-1)
        at_place = float(-up[beside <= max(BESIDE * size, beside.min())].min())
        lifted = on_plane + LIFT * size
        return max(at_place, lifted - ground.height(away + on.place + lifted * on.normal))


@dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """The mesh under the mouse, until Blender evaluates anew."""

    seen: "Object"
    into: Matrix
    down: Vector
    """In its own space, a metre of the world long."""

    def height(self, points: Floats) -> float:
        """m, the least that points (N, 3) in the world are above it; infinite where it is below none."""
        starts = (self.into @ Vector(point) for point in points.tolist())
        hits = ((start, self.seen.ray_cast(start, self.down)) for start in starts)
        found = ((hit[1] - start).length / self.down.length for start, hit in hits if hit[0])
        return float(min(found, default=np.inf))


def _ground(on: SurfaceHit) -> _Ground | None:
    """None for what has no mesh of its own at the place: curves, what geometry nodes make of it, what is flat."""
    seen = on.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    if seen.type != "MESH" or abs(on.matrix.determinant()) < FLAT:
        return None
    into = on.matrix.inverted()
    ground = _Ground(seen, into, into.to_3x3() @ Vector((-on.normal).tolist()))
    return ground if ground.height((on.place + MET * on.normal)[None]) < 2 * MET else None


def padded(dragged: RigDrag, found: FoundHand) -> Padded:
    """What is dragged, with the skin about it as it is seen. Raises RigError where the hand is gone."""
    held, joint = dragged.follower.held, dragged.drag.joint
    flesh, digit = flesh_of(held.armature_object(), found, held), str(digit_of(joint))
    if joint in KNUCKLES:
        points = flesh.moved(joint_frames(held.hand, dragged.start.pose))[0]
        about = np.linalg.norm(points - dragged.position, axis=-1) < ABOUT * length(held.hand)
        own = (flesh.digit < 0) & about
    else:
        own = (flesh.digit == DIGITS.index(digit)) & (flesh.link == CHAIN_JOINTS[digit].index(joint) - 1)
    return Padded(dragged, thinned(flesh.chosen(np.flatnonzero(own)), SPACING * length(held.hand)))
