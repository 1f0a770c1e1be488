"""The motion of an object relative to a hand's wrist, as Blender evaluates both on a take's frames."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ....errors import RigError
from ....hand import rotations as rot
from ....hand.generators import Progress, Steps
from ...binding import RigBinding
from ...markers_object import is_markers
from ...skin_bones import is_skin
from ...solid_mesh import Solid, solid_of
from ..arm_keys import ArmBones, rest_arm
from ..parent_motion import FLAT_SCALE_RATIO, on_frames
from .carried_object import is_carried
from .deforming_surface import DeformedShape, Shapes, positions_about, shapes_of
from .keyed_wrist import NO_ARM, ArmChain, WristKeys
from .played_wrist import PlayedWrist, orthonormal

if TYPE_CHECKING:
    from bpy.types import Object

Floats = NDArray[np.float64]

FRAMES_AT_ONCE = 10
"""Frames that are evaluated between two steps."""
SIZE_TOLERANCE = 1e-3
"""Maximum relative change of an object's size over the frames if it keeps its shape."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectMotion:
    """An object and a wrist over F frames."""

    name: str
    """The object's name."""
    solid: Solid
    """The surface of the object as it is on the middle frame, in the world there."""
    object_world: Floats
    """(F, 4, 4) T_world_object."""
    played: PlayedWrist
    """The wrist as the armature plays it."""
    carried: bool
    """Whether the wrist carries the object."""
    shapes: Shapes | None = None
    """Its mesh on all frames if it may deform."""

    def followed_about(self, points: Floats) -> "ObjectMotion":
        """Return the motion of its surface near points (N, 3), m in the world on the middle frame, since it may deform.

        Raises RigError if it bends there.
        """
        if self.shapes is None:
            return self
        motions = self.shapes.followed(positions_about(self.solid, points), self.middle, self.name)
        return replace(self, object_world=motions @ self.object_world[self.middle])

    @property
    def middle(self) -> int:
        """The row of the middle frame."""
        return len(self.object_world) // 2

    def to_surface(self, wrist_world: Floats) -> Floats:
        """Return a wrist (F, 4, 4) in the world relative to the surface, in the coordinates of the middle frame."""
        return np.asarray(self._to_middle @ wrist_world)

    def in_world(self, to_surface: Floats) -> Floats:
        """Return the inverse of `to_surface`."""
        return np.asarray(np.linalg.inv(self._to_middle) @ to_surface)

    @property
    def _to_middle(self) -> Floats:
        """Return the transforms (F, 4, 4) from the object's pose to its pose on the middle frame."""
        return np.asarray(self.object_world[self.middle] @ np.linalg.inv(self.object_world))

    def position(self, on_object: Floats) -> Floats:
        """Map a position (3,) from the object's coordinates to the world, m, on the middle frame."""
        world = self.object_world[self.middle]
        return np.asarray(world[:3, :3] @ on_object + world[:3, 3])

    def on_object(self, position: Floats) -> Floats:
        """Return the inverse of `position`."""
        return np.asarray((np.linalg.inv(self.object_world[self.middle]) @ [*position, 1.0])[:3])

    def rotation_on_object(self, rotation: Floats) -> Floats:
        """Map a rotation (4,) from the world to the object's axes on the middle frame."""
        return rot.multiply(rot.conjugate(self._axes), rotation)

    def rotation(self, on_object: Floats) -> Floats:
        """Return the inverse of `rotation_on_object`."""
        return rot.multiply(self._axes, on_object)

    @property
    def _axes(self) -> Floats:
        return rot.from_matrix(orthonormal(self.object_world[[self.middle]])[0, :3, :3])

    def wrist(self, rotations: Floats | None, wrist_keys: WristKeys | None) -> PlayedWrist:
        """Return the wrist with keys other than the played ones, see PlayedWrist.keyed_otherwise.

        A wrist that carries the object keeps its played motion.
        """
        return self.played if self.carried else self.played.keyed_otherwise(rotations, wrist_keys)


@dataclass(frozen=True, slots=True, eq=False)
class ReadFrame:
    """The evaluated state of an object and a wrist on a frame."""

    frame: float
    is_visible: bool
    """Whether the object is visible: a disabled object keeps the state in which it was last shown."""
    transforms: Floats
    """(2 + 2 N, 4, 4) of the object and the wrist, of N bones in the world, and of these relative to their rest."""
    solid: Solid | None
    """The object's surface, in the world, if it was requested."""
    shape: DeformedShape | None = None
    """The object's mesh, if it may deform."""


@dataclass(frozen=True, slots=True)
class Beside:
    """The names of an object, and of the wrist and bones of an armature that touches it."""

    binding: RigBinding
    object: str
    carrier: str
    """The bone that carries the wrist."""
    keyed: tuple[str, ...]
    """The keyed bones: those of the arm, if corrections move it, and the wrist's."""

    @classmethod
    def of(cls, binding: RigBinding, name: str, arm: tuple[str, ...]) -> "Beside":
        """Return the names for a hand, with its arm if it has one, and an object."""
        control = str(binding.bones[0])
        return cls(binding, name, binding.carrier or control, (*arm, control))

    @property
    def names(self) -> tuple[str, ...]:
        """All names."""
        return self.binding.armature, self.object, self.carrier, *self.keyed

    def read(self, frames: list[float], with_solid: float) -> list[ReadFrame]:
        """Return the evaluated state on scene frames; on one of them with the object's surface.

        Raises RigError as object_to_touch does, and for an object that has no surface.
        """
        armature = bpy.data.objects[self.binding.armature]
        obj = object_to_touch(self.object, armature)
        rest = np.array(armature.data.bones[self.carrier].matrix_local.inverted()) @ self.binding.rest[0]

        def read(frame: float) -> ReadFrame:
            graph = bpy.context.evaluated_depsgraph_get()
            evaluated, posed = obj.evaluated_get(graph), armature.evaluated_get(graph)
            # Its visibility may be animated.
            if evaluated.hide_viewport:
                return ReadFrame(frame, False, np.empty(0), None)
            own, bones = np.array(posed.matrix_world), posed.pose.bones
            carrier = own @ np.array(bones[self.carrier].matrix) @ rest
            moved = [own @ np.array(bones[name].matrix) for name in self.keyed]
            bases = [np.array(bones[name].matrix_basis) for name in self.keyed]
            transforms = np.stack([np.array(evaluated.matrix_world), carrier, *moved, *bases])
            solid = solid_of(obj) if frame == with_solid else None
            return ReadFrame(frame, True, transforms, solid, DeformedShape.of(obj))

        return on_frames(armature, np.array(frames), read, obj)


class PlayedFrames:
    """A cache of the frames that Blender has evaluated of objects and wrists, valid while the scene does not change."""

    def __init__(self, as_solved: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """as_solved: context in which frames are evaluated, with the hands as they were solved."""
        self._as_solved = as_solved
        self._read = dict[tuple[str, ...], dict[float, ReadFrame]]()

    def motion(self, binding: RigBinding, name: str, frames: Floats, arm: ArmChain = NO_ARM) -> Steps[ObjectMotion]:
        """Return the motion of an object of the scene and a wrist on scene frames (F,).

        arm: bones of the arm that corrections move. Raises RigError as object_to_touch and is_carried do, and for an
        object that has no surface, is disabled in viewports, is flat or changes its size.
        """
        armature, beside = bpy.data.objects[binding.armature], Beside.of(binding, name, arm.names)
        carried = is_carried(object_to_touch(name, armature), armature, binding, arm.names)
        elbow, reads = elbow_axis(armature, binding, arm.names), (yield from self._reading(beside, frames.tolist()))
        for read in reads:
            if not read.is_visible:
                raise RigError(
                    f"'{name}' is disabled in viewports on frame {read.frame:.0f}, so Blender does not move it there"
                )
        solid, count = reads[len(reads) // 2].solid, len(beside.keyed)
        assert solid is not None
        transforms = np.stack([read.transforms for read in reads])
        worlds, wrists, bones, bases = np.split(transforms, [1, 2, 2 + count], axis=1)
        _check_shape(name, worlds[:, 0])
        axes = binding.location_axes[0]
        bases[:, -1, :3, 3] = bases[:, -1, :3, 3] @ axes.T
        played = PlayedWrist(orthonormal(wrists[:, 0]), bones, bases, axes, elbow, arm)
        shapes = [read.shape for read in reads if read.shape is not None]
        deformed = shapes_of(shapes, len(reads) // 2, worlds[:, 0], name) if len(shapes) == len(reads) else None
        return ObjectMotion(name, solid, worlds[:, 0], played, carried, deformed)

    def _reading(self, beside: Beside, frames: list[float]) -> Steps[list[ReadFrame]]:
        """Return the evaluated state on frames, on the middle one with the object's surface."""
        known, middle = self._read.setdefault(beside.names, {}), frames[len(frames) // 2]
        missing = [at for at in frames if at not in known or (at == middle and known[at].solid is None)]
        for start in range(0, len(missing), FRAMES_AT_ONCE):
            yield Progress(start / len(missing), f"Evaluating the frames beside '{beside.object}'")
            with self._as_solved():
                some = beside.read(missing[start : start + FRAMES_AT_ONCE], middle)
            for read in some:
                first = next(iter(known.values()), read).shape
                known[read.frame] = read if read.shape is None else replace(read, shape=read.shape.shared(first))
        return [known[frame] for frame in frames]


def elbow_axis(armature: "Object", binding: RigBinding, arm: tuple[str, ...]) -> Floats:
    """Return the axis (3,) about which the elbow of an arm bends, in the forearm's frame; zero without an arm."""
    if not arm:
        return np.zeros(3)
    fitted = rest_arm(armature, ArmBones(arm[0], arm[1]), binding, np.array(armature.matrix_world, float))
    own = np.array(armature.data.bones[arm[1]].matrix_local)[:3, :3]
    return np.asarray(own.T @ fitted.rest[1, :3, 0])


def object_to_touch(name: str, armature: "Object") -> "Object":
    """Return the object of a name in the scene, for a hand of an armature to touch.

    Raises RigError if it is not there, is not a mesh, shows markers, or is the armature's skin.
    """
    obj: Object | None = bpy.context.scene.objects.get(name)
    if obj is None:
        raise RigError(f"there is no object '{name}' in the scene")
    if obj.type != "MESH":
        raise RigError(f"'{name}' has no surface: it is of type {obj.type}, choose a mesh")
    if is_markers(obj):
        raise RigError(f"'{name}' shows the markers of a capture, choose another mesh")
    if is_skin(obj, armature):
        raise RigError(f"'{name}' is the skin of '{armature.name}', choose another mesh")
    return obj


def _check_shape(name: str, worlds: Floats) -> None:
    """Raise RigError unless an object at T_world_object (F, 4, 4) keeps its shape and size, which are not flat."""
    if not np.isfinite(worlds).all():
        raise RigError(f"'{name}' has a transform in these frames that is not finite")
    stretch = np.linalg.svd(worlds[:, :3, :3], compute_uv=False)
    if not (stretch[:, -1] > FLAT_SCALE_RATIO * stretch[:, 0]).all():
        raise RigError(f"'{name}' is scaled to zero along an axis in these frames, give it a size along all axes")
    gram = np.einsum("fji,fjk->fik", worlds[:, :3, :3], worlds[:, :3, :3])
    size = float(np.abs(gram).max())
    if float(np.abs(gram - gram[0]).max()) > SIZE_TOLERANCE * size:
        raise RigError(f"'{name}' changes its size in these frames, and nothing can stay on it")
