"""What is dragged laid on a surface: the skin about it touches there, and not the bone inside."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from mathutils import Matrix, Vector
from numpy.typing import NDArray

from ..hand.joints import CHAIN_JOINTS, DIGITS, KNUCKLES, digit_of
from ..hand.kinematics import Pose, joint_frames
from ..posing.dragging import Course, place_of
from ..posing.grasp.flesh import Flesh
from ..posing.grasp.seats import length
from .detect import FoundHand
from .dragging import Dragged, move
from .held import armature_held
from .skin import flesh_of

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

ABOUT = 0.13
"""Hand lengths: skin of the palm that is so near to a knuckle is the skin about it."""
ABOVE = 0.3
"""Hand lengths above a surface from where skin is lowered onto it: over what stands out of it beside the mouse."""
ROUNDS = 4
"""Times that a digit is laid on: how thick it is there depends on how it comes to lie."""
STAYS = 5e-4
"""Hand lengths, a tenth of a millimetre of an adult's: it came to lie as it was laid."""


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """What is under the mouse. Holds an object of Blender's: not to be kept."""

    obj: "Object"
    place: Floats
    """(3,) m in the world,"""
    normal: Floats
    """(3,) and what is up there, unit, on the side that is seen."""

    def height(self, points: Floats) -> float:
        """m that the lowest of points (N, 3) is above it, straight down; above its plane where it is below none."""
        seen = self.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
        plane = float(np.min((points - self.place) @ self.normal))
        if seen.type != "MESH":
            return plane
        into = seen.matrix_world.inverted_safe()
        down = into.to_3x3() @ Vector((-self.normal).tolist())
        return min(_far(seen, into, down, points), default=plane)


def _far(seen: "Object", into: Matrix, down: Vector, points: Floats) -> Iterator[float]:
    """m from points (N, 3) in the world down to a mesh, of those that are above it."""
    for point in points.tolist():
        start = into @ Vector(point)
        hit, place, _, _ = seen.ray_cast(start, down)
        if hit:
            yield (place - start).length / down.length


@dataclass(frozen=True, slots=True, eq=False)
class Padded:
    """What is dragged, with the skin about it: that of the phalanx that ends there."""

    dragged: Dragged
    skin: Flesh

    def lay(self, on: Surface, last: Course | None = None) -> tuple[Course, Floats]:
        """Poses the hand with the skin on a surface, what is dragged above its place.

        last, raises: as dragging.move. Returns also (3,) m in the world, where what is dragged was brought for that.
        """
        pose = last.pose if last else self.dragged.stands.pose
        thick = self._thickness(pose, on)
        for _ in range(ROUNDS):
            goal = on.place + thick * on.normal
            last = move(self.dragged, goal, last)
            before, thick = thick, self._thickness(last.pose, on)
            if abs(thick - before) < STAYS * length(last.pose.hand):
                break
        assert last is not None
        return last, goal

    def _thickness(self, pose: Pose, on: Surface) -> float:
        """m above its place on a surface at which what is dragged touches with its skin, as it is turned in a pose."""
        points = self.skin.moved(joint_frames(pose.hand, pose))[0]
        if not len(points):
            return 0.0
        lifted = ABOVE * length(pose.hand)
        return lifted - on.height(points - place_of(pose, self.dragged.drag.joint) + on.place + lifted * on.normal)


def padded(dragged: Dragged, found: FoundHand) -> Padded:
    """What is dragged, with the skin about it as it is seen. Raises RigError where the hand is gone."""
    held, joint = dragged.who.held, dragged.drag.joint
    flesh, digit = flesh_of(armature_held(held), found, held), str(digit_of(joint))
    if joint in KNUCKLES:
        points = flesh.moved(joint_frames(held.hand, dragged.stands.pose))[0]
        about = np.linalg.norm(points - dragged.place, axis=-1) < ABOUT * length(held.hand)
        return Padded(dragged, flesh.chosen(np.flatnonzero((flesh.digit < 0) & about)))
    before = CHAIN_JOINTS[digit].index(joint) - 1
    own = (flesh.digit == DIGITS.index(digit)) & (flesh.link == before)
    return Padded(dragged, flesh.chosen(np.flatnonzero(own)))
