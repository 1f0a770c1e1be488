"""How an object of the scene and a hand's wrist move past each other, as Blender evaluates them on a take's frames."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ...binding import RigBinding
from ...skin_bones import is_skin
from ...solid_mesh import Solid, solid_of
from ..arm_keys import ArmBones, rest_arm
from ..parent_motion import FLAT, on_frames
from .carried_object import is_carried
from .keyed_wrist import WristPlace
from .played_wrist import PlayedWrist, orthonormal

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

SAME_SIZE = 1e-3
"""Relative change of an object's size over the frames from which it does not keep its shape."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectMotion:
    """An object and a wrist over F frames."""

    solid: Solid
    """The surface of the object as it is on the middle frame, in the world there."""
    object_world: Floats
    """(F, 4, 4) T_world_object."""
    played: PlayedWrist
    """As the armature plays it."""
    carried: bool
    """Whether the wrist carries the object."""

    @property
    def middle(self) -> int:
        """The row of the middle frame."""
        return len(self.object_world) // 2

    def to_surface(self, wrist_world: Floats) -> Floats:
        """Return where a wrist (F, 4, 4) in the world is beside the surface as it is on the middle frame."""
        return np.asarray(self._to_middle @ wrist_world)

    def in_world(self, to_surface: Floats) -> Floats:
        """Return the inverse of `to_surface`."""
        return np.asarray(np.linalg.inv(self._to_middle) @ to_surface)

    @property
    def _to_middle(self) -> Floats:
        """(F, 4, 4) from where the object is to where it is on the middle frame."""
        return np.asarray(self.object_world[self.middle] @ np.linalg.inv(self.object_world))

    def place(self, on_object: Floats) -> Floats:
        """Return where a place (3,) in the object's coordinates is on that frame, m in the world."""
        world = self.object_world[self.middle]
        return np.asarray(world[:3, :3] @ on_object + world[:3, 3])

    def on_object(self, place: Floats) -> Floats:
        """Return the inverse of `place`."""
        return np.asarray((np.linalg.inv(self.object_world[self.middle]) @ [*place, 1.0])[:3])

    def turn_on_object(self, turn: Floats) -> Floats:
        """Return a rotation (4,) relative to the object's axes for one in the world on that frame."""
        return rot.multiply(rot.conjugate(self._axes), turn)

    def turn(self, on_object: Floats) -> Floats:
        """Return the inverse of `turn_on_object`."""
        return rot.multiply(self._axes, on_object)

    @property
    def _axes(self) -> Floats:
        return rot.from_matrix(orthonormal(self.object_world[[self.middle]])[0, :3, :3])

    def wrist(self, rotations: Floats | None, place: WristPlace | None) -> PlayedWrist:
        """Return the wrist with other keys than are played, see PlayedWrist.keyed_otherwise.

        Beside an object that it carries it is where it is played.
        """
        return self.played if self.carried else self.played.keyed_otherwise(rotations, place)


def object_motion(binding: RigBinding, name: str, frames: Floats, arm: tuple[str, ...] = ()) -> ObjectMotion:
    """Return how an object of the scene and a wrist move on scene frames (F,).

    arm: the bones of the upper arm and the forearm, if these are composed; none for no arm. Raises RigError as
    object_to_touch and is_carried do, and for an object that has no surface, is disabled in
    viewports, is flat or changes its size.
    """
    armature = bpy.data.objects[binding.armature]
    obj = object_to_touch(name, armature)
    carried, control = is_carried(obj, armature, binding, arm), str(binding.bones[0])
    carrier, chain = binding.carrier or control, (*arm, control)
    rest = np.array(armature.data.bones[carrier].matrix_local.inverted()) @ binding.rest[0]

    solids = list[Solid]()

    def read(frame: float) -> Floats:
        graph = bpy.context.evaluated_depsgraph_get()
        shown = obj.evaluated_get(graph)
        # It may be animated. What is disabled stays where and as it was when it was shown last.
        if shown.hide_viewport:
            raise RigError(
                f"'{name}' is disabled in viewports on frame {frame:.0f}, and Blender does not move it there"
            )
        if frame == frames[len(frames) // 2]:
            solids.append(solid_of(obj))
        posed, world = armature.evaluated_get(graph), np.array(shown.matrix_world)
        own, bones = np.array(posed.matrix_world), posed.pose.bones
        moved = [own @ np.array(bones[each].matrix) for each in chain]
        bases = [np.array(bones[each].matrix_basis) for each in chain]
        return np.stack([world, own @ np.array(bones[carrier].matrix) @ rest, *moved, *bases])

    read_frames = np.stack(on_frames(armature, frames, read, obj))
    worlds, wrists, bones, bases = np.split(read_frames, [1, 2, 2 + len(chain)], axis=1)
    _check_shape(name, worlds[:, 0])
    axes = binding.location_axes[0]
    bases[:, -1, :3, 3] = bases[:, -1, :3, 3] @ axes.T
    played = PlayedWrist(orthonormal(wrists[:, 0]), bones, bases, axes, elbow_axis(armature, binding, arm))
    return ObjectMotion(solids[0], worlds[:, 0], played, carried)


def elbow_axis(armature: "Object", binding: RigBinding, arm: tuple[str, ...]) -> Floats:
    """Return the axis (3,) about which the elbow of an arm bends, in the forearm's frame; zero without an arm."""
    if not arm:
        return np.zeros(3)
    fitted = rest_arm(armature, ArmBones(arm[0], arm[1]), binding, np.array(armature.matrix_world, float))
    own = np.array(armature.data.bones[arm[1]].matrix_local)[:3, :3]
    return np.asarray(own.T @ fitted.rest[1, :3, 0])


def object_to_touch(name: str, armature: "Object") -> "Object":
    """Return the object of a name in the scene, which a hand of an armature is to touch.

    Raises RigError if it is not there, is not a mesh, or is the armature's skin.
    """
    obj: Object | None = bpy.context.scene.objects.get(name)
    if obj is None:
        raise RigError(f"there is no object '{name}' in the scene")
    if obj.type != "MESH":
        raise RigError(f"'{name}' has no surface: it is of type {obj.type}, choose a mesh")
    if is_skin(obj, armature):
        raise RigError(f"'{name}' is the skin of '{armature.name}', choose another mesh")
    return obj


def _check_shape(name: str, worlds: Floats) -> None:
    """Raise RigError unless an object at T_world_object (F, 4, 4) keeps its shape and size, which are not flat."""
    if not np.isfinite(worlds).all():
        raise RigError(f"'{name}' has a place in these frames that is not of finite numbers")
    stretch = np.linalg.svd(worlds[:, :3, :3], compute_uv=False)
    if not (stretch[:, -1] > FLAT * stretch[:, 0]).all():
        raise RigError(f"'{name}' is scaled flat in these frames, give it a size along all axes")
    gram = np.einsum("fji,fjk->fik", worlds[:, :3, :3], worlds[:, :3, :3])
    size = float(np.abs(gram).max())
    if float(np.abs(gram - gram[0]).max()) > SAME_SIZE * size:
        raise RigError(f"'{name}' changes its size in these frames, and nothing can stay on it")
