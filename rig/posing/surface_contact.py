"""Lay a dragged point on a surface so that the skin touches it, not the bone inside."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from ...hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, digit_of
from ...hand.kinematics import Pose, joint_frames, joint_position
from ...posing.dragging import DragStep
from ...posing.grasping.contact_frames import hand_length
from ...posing.grasping.skin_samples import SkinPoints, thinned
from ..armature_hands import FoundHand
from .dragging import RigDrag, move
from .rig_skin import flesh_of

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

ABOUT = 0.13
"""Hand lengths: skin of the palm within this distance of a knuckle belongs to the knuckle."""
FLAT, MET = 1e-12, 1e-4
"""Minimum determinant of an invertible matrix; m between a mesh and the point where the mouse met it."""
SPACING = 0.011
"""Hand lengths between the skin points that are used."""
BESIDE = 0.02
"""Hand lengths: skin within this distance of the line through the dragged point and its goal stays above the goal, even
on a thin edge."""
LIFT = 1e-3
"""Hand lengths by which skin is lifted before it is lowered, as rounding could put touching points below the
surface."""
ROUNDS = 4
"""Iterations: the thickness of a digit above the surface depends on its pose there."""
STAYS = 5e-4
"""Hand lengths, a tenth of a millimetre of an adult's: the change of thickness at which the iteration ends."""


@dataclass(frozen=True, slots=True, eq=False)
class SurfaceHit:
    """The surface under the mouse. It holds a Blender object, so it must not be stored."""

    obj: "Object"
    matrix: Matrix
    """World matrix of the object, or of its instance that was hit."""
    position: Floats
    """(3,) m in the world."""
    normal: Floats
    """(3,) unit, on the visible side."""


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """A dragged point with the skin of the phalanx that ends at it."""

    dragged: RigDrag
    skin: SkinPoints

    def lay(self, on: SurfaceHit, last: DragStep | None = None) -> tuple[DragStep, Floats]:
        """Pose the hand with its skin on a surface, and the dragged point above the hit.

        Arguments and errors: see dragging.move. Returns the step and the dragged point's goal (3,) m in the world.
        """
        ground, step = _ground(on), last
        thick = self._thickness(last.pose if last else self.dragged.start.pose, on, ground)
        for _ in range(ROUNDS):
            step = self.dragged.drag.step(on.position + thick * on.normal, step)
            before, thick = thick, self._thickness(step.pose, on, ground)
            if abs(thick - before) < STAYS * hand_length(step.pose.hand):
                break
        goal = on.position + thick * on.normal
        return move(self.dragged, goal, last), goal

    def _thickness(self, pose: Pose, on: SurfaceHit, ground: "_Ground | None") -> float:
        """Return the height in m above the hit at which the skin touches the surface in a pose."""
        size, points = hand_length(pose.hand), self.skin.posed(joint_frames(pose.hand, pose))[0]
        if not len(points):
            return 0.0
        offsets = points - joint_position(pose, self.dragged.drag.joint)[0]
        up = offsets @ on.normal
        on_plane = float(-up.min())
        if ground is None:
            return on_plane
        near_normal = np.linalg.norm(offsets - up[:, None] * on.normal, axis=-1)
        min_height = float(-up[near_normal <= max(BESIDE * size, near_normal.min())].min())
        lifted = on_plane + LIFT * size
        return max(min_height, lifted - ground.height(offsets + on.position + lifted * on.normal))


@dataclass(frozen=True, slots=True, eq=False)
class _Ground:
    """The mesh under the mouse. It is valid until Blender evaluates again."""

    mesh: "Object"
    into: Matrix
    down: Vector
    """Downwards in the mesh's own space, as long as a metre in the world."""

    def height(self, points: Floats) -> float:
        """Return the minimum height in m of points (N, 3) in the world above the mesh; infinite if it is below none."""
        starts = (self.into @ Vector(point) for point in points.tolist())
        hits = ((start, self.mesh.ray_cast(start, self.down)) for start in starts)
        heights = ((hit[1] - start).length / self.down.length for start, hit in hits if hit[0])
        return float(min(heights, default=np.inf))


def _ground(on: SurfaceHit) -> _Ground | None:
    """Return the mesh that was hit; None for curves, instances made by geometry nodes, and flat objects."""
    mesh = on.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    if mesh.type != "MESH" or abs(on.matrix.determinant()) < FLAT:
        return None
    into = on.matrix.inverted()
    ground = _Ground(mesh, into, into.to_3x3() @ Vector((-on.normal).tolist()))
    return ground if ground.height((on.position + MET * on.normal)[None]) < 2 * MET else None


def padded(dragged: RigDrag, found: FoundHand) -> Padded:
    """Return a dragged point with its evaluated skin. Raises RigError if the hand no longer exists."""
    rig_hand, joint = dragged.hand_arm.rig_hand, dragged.drag.joint
    flesh, digit = flesh_of(rig_hand.armature_object(), found, rig_hand), str(digit_of(joint))
    if joint in KNUCKLES:
        points = flesh.posed(joint_frames(rig_hand.hand, dragged.start.pose))[0]
        about = np.linalg.norm(points - dragged.position, axis=-1) < ABOUT * hand_length(rig_hand.hand)
        own = (flesh.digit < 0) & about
    else:
        own = (flesh.digit == DIGITS.index(digit)) & (flesh.link == CHAIN_JOINTS[digit].index(joint) - 1)
    return Padded(dragged, thinned(flesh.subset(np.flatnonzero(own)), SPACING * hand_length(rig_hand.hand)))
