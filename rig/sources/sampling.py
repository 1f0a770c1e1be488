"""Sampling: armatures evaluated on each frame of their animation, as a recording of the joints of their hands.

They are evaluated in a scene of their own, which is removed afterwards. The user's scene, its frame and what was posed
without keys do not change.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import bpy
import numpy as np
from numpy.typing import NDArray

from ...capture.frame import safe_label
from ...capture.marker_labels import ELBOW
from ...capture.recording import Recording
from ...errors import CaptureError
from ...hand import rotations as rot
from ...hand.forearm import unpronated
from ...hand.generators import Progress, Steps
from ..keys.frame_times import scene_rate
from ..linked import ObjectName
from .arms_at_rest import arms_rest
from .frame_span import animated_span
from .source_hands import SourceHand, SourceJoint

if TYPE_CHECKING:
    from bpy.types import Depsgraph, Object, Scene

Floats = NDArray[np.float64]

SCENE_NAME = "Knuckle Sampling"
MIN_MOTION = 1e-5
"""Share of the hand's length; hands that move less stand still."""
MAX_NAME = 40
"""Characters of an armature's name before the labels of its joints."""


@dataclass(frozen=True, slots=True)
class Source:
    """An armature and the hands that are read from it. Holds names only, so it survives an undo."""

    armature: ObjectName
    hands: tuple[SourceHand, ...]

    def joints(self) -> list[SourceJoint]:
        """Return the joints of all its hands."""
        return [joint for hand in self.hands for joint in hand.joints]

    def bones(self) -> list[str]:
        """Return the bones of its joints, then the upper arms' at its elbows."""
        return [joint.bone for joint in self.joints()] + [joint.upper for joint in self.joints() if joint.upper]

    def find(self) -> "Object":
        """Return the armature. Raises CaptureError if it is gone."""
        found = self.armature.find()
        if found is None or any(name not in found.data.bones for name in self.bones()):
            raise CaptureError(f"armature '{self.armature.name}' or bones of its hands are not in this file any more")
        return found


def sample(sources: Sequence[Source], scene: "Scene", format_name: str) -> Steps[Recording]:
    """Return a recording of the hands of armatures over their animation, at the rate of the scene or of its keys.

    Labels are `right:wrist`, and `NAME right:wrist` of several armatures. Positions are in the world, rotations are the
    bones'. Raises CaptureError for armatures that are gone, hidden, not animated or do not move.
    """
    armatures = [source.find() for source in sources]
    span, rate = animated_span(armatures, scene), scene_rate(scene)
    frames = span.frames()
    samples = [np.empty((len(frames), 1 + len(source.bones()), 4, 4)) for source in sources]
    with _sampling_scene(scene, armatures) as name:
        for row, frame in enumerate(frames):
            for of_source, matrices in zip(samples, _matrices(sources, name, float(frame)), strict=True):
                of_source[row] = matrices
            yield Progress((row + 1) / len(frames), "Sampling the armature")
    poses = np.concatenate(list(map(_joint_poses, sources, samples)), axis=1)
    return _recording(sources, poses, (frames - frames[0]) / rate, rate / span.step, format_name)


@contextmanager
def _sampling_scene(scene: "Scene", armatures: "Sequence[Object]") -> Iterator[str]:
    """Make a scene with the rate of another that holds the armatures only; yield its name and remove it."""
    own = bpy.data.scenes.new(SCENE_NAME)
    name = own.name
    own.render.fps, own.render.fps_base = scene.render.fps, scene.render.fps_base
    own.frame_start, own.frame_end = scene.frame_start, scene.frame_end
    for armature in armatures:
        own.collection.objects.link(armature)
    try:
        yield name
    finally:
        # The user may have undone something or opened a file since, which removes the scene as well.
        left: Scene | None = bpy.data.scenes.get(name)
        if left is not None:
            bpy.data.scenes.remove(left)


def _matrices(sources: Sequence[Source], scene_name: str, frame: float) -> list[Floats]:
    """Return `_matrices_of` each armature on a frame. Raises CaptureError if the scene no longer exists."""
    scene: Scene | None = bpy.data.scenes.get(scene_name)
    if scene is None:
        raise CaptureError(f"armature '{sources[0].armature.name}' was changed while it was read, read it again")
    whole = int(np.floor(frame))
    scene.frame_set(whole, subframe=frame - whole)
    depsgraph = scene.view_layers[0].depsgraph
    return [_matrices_of(source, depsgraph) for source in sources]


def _matrices_of(source: Source, depsgraph: "Depsgraph") -> Floats:
    """Return T_world_armature and T_armature_bone (1 + B, 4, 4) of an armature's bones."""
    armature = source.find()
    if armature.hide_viewport:
        raise CaptureError(f"armature '{armature.name}' is disabled in viewports, enable it to read its animation")
    evaluated = armature.evaluated_get(depsgraph)
    bones = evaluated.pose.bones
    return np.array([evaluated.matrix_world, *(bones[name].matrix for name in source.bones())])


def _joint_poses(source: Source, matrices: Floats) -> Floats:
    """Return T_world_bone (F, M, 4, 4) of joints, at their offsets, from `_matrices_of` F frames (F, 1 + B, 4, 4)."""
    armature, joints = source.find(), source.joints()
    world, local, upper = np.split(matrices, [1, 1 + len(joints)], axis=1)
    for number, row in enumerate(row for row, joint in enumerate(joints) if joint.upper):
        fore = local[:, row, :3, :3]
        local[:, row, :3, :3] = _unpronated(armature, joints[row], upper[:, number, :3, :3], fore)
    poses: Floats = world @ local
    offsets = np.array([joint.offset for joint in joints])
    poses[..., :3, 3] += (poses[..., :3, :3] @ offsets[..., None])[..., 0]
    return poses


def _unpronated(armature: "Object", elbow: SourceJoint, upper: Floats, fore: Floats) -> Floats:
    """Return the poses (F, 3, 3) of a forearm's bone without its twist, from the poses of an arm's two bones."""
    upper_rest, fore_rest, wrist_rest = (
        np.array(armature.data.bones[name].matrix_local) for name in (elbow.upper, elbow.bone, elbow.axes)
    )
    moved = [
        rot.from_matrix(rot.orthonormal(pose) @ rest[:3, :3].T)
        for pose, rest in ((upper, upper_rest), (fore, fore_rest))
    ]
    along = wrist_rest[:3, 3] - fore_rest[:3, 3]
    turned: Floats = rot.to_matrix(unpronated(moved[0], moved[1], along)) @ fore_rest[:3, :3]
    return turned


def _recording(sources: Sequence[Source], poses: Floats, times: Floats, rate: float, format_name: str) -> Recording:
    positions = poses[..., :3, 3]
    labels = []
    for source in sources:
        prefix = f"{safe_label(source.armature.name, MAX_NAME)} " if len(sources) > 1 else ""
        labels += [f"{prefix}{hand.side}:{each.joint}" for hand in source.hands for each in hand.joints]
    size = float(np.nanmax(np.ptp(positions[0], axis=0)))
    if not np.ptp(positions, axis=0).max() > MIN_MOTION * size:
        raise CaptureError(f"armature '{sources[0].armature.name}' does not move in any of its {len(times)} frames")
    return Recording(
        format=format_name,
        names=tuple(labels),
        positions=positions,
        rotations=_rotations(sources, poses),
        times=times,
        rate=rate,
        unit="m",
        up="z",
        up_is_defined=True,
    )


def _rotations(sources: Sequence[Source], poses: Floats) -> Floats:
    """Return the bones' rotations (F, M, 4) wxyz in the world, also of mirrored armatures.

    NaN at tips, and at elbows whose arms may not be at rest where their armature is.
    """
    axes = np.concatenate([_axes(source) for source in sources])
    poses = poses[..., :3, :3] @ axes
    rotations = rot.from_matrix(rot.orthonormal(poses))
    unknown = [
        any(joint.offset) or (joint.joint == ELBOW and not rests)
        for source, rests in ((source, arms_rest(source.find(), source.hands)) for source in sources)
        for hand in source.hands
        for joint in hand.joints
    ]
    rotations[:, unknown] = np.nan
    return rotations


def _axes(source: Source) -> Floats:
    """Return the axes (M, 3, 3) of the joints' rotations in those of their bones."""
    bones = source.find().data.bones
    joints = source.joints()
    own, wanted = (
        np.array([np.array(bones[name].matrix_local)[:3, :3] for name in names])
        for names in ([joint.bone for joint in joints], [joint.axes or joint.bone for joint in joints])
    )
    turned: Floats = np.swapaxes(own, -1, -2) @ wanted
    return turned
