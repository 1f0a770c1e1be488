"""Sample armatures on each frame of their animation, and return a recording of the joints of their hands.

The armatures are evaluated in a separate scene, which is removed afterwards. The user's scene, its frame and poses
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
from ...capture.recording import Recording
from ...errors import CaptureError
from ...hand import rotations as rot
from ...hand.forearm import remove_pronation
from ...hand.generators import Progress, Steps
from ..keys.frame_times import scene_rate
from ..linked import ObjectName
from .arms_at_rest import arms_rest, elbows_by_axes
from .frame_span import animated_span
from .source_hands import SourceHand, SourceJoint

if TYPE_CHECKING:
    from bpy.types import Depsgraph, Object, Scene

Floats = NDArray[np.float64]

SCENE_NAME = "Knuckle Sampling"
MIN_MOTION = 1e-5
"""Fraction of the hand's length: hands that move less than this do not move."""
MAX_NAME = 40
"""Maximum number of characters of an armature's name in the labels of its joints."""


@dataclass(frozen=True, slots=True)
class Source:
    """An armature and the hands that are read from it. It holds only names, so it stays valid after undo."""

    armature: ObjectName
    hands: tuple[SourceHand, ...]

    def joints(self) -> list[SourceJoint]:
        """Return the joints of all its hands."""
        return [joint for hand in self.hands for joint in hand.joints]

    def bones(self) -> list[str]:
        """Return the bones of its joints, then those of the upper arms at its elbows."""
        return [joint.bone for joint in self.joints()] + [joint.upper for joint in self.joints() if joint.upper]

    def find(self) -> "Object":
        """Return the armature. Raises CaptureError if it no longer exists."""
        found = self.armature.find()
        if found is None or any(name not in found.data.bones for name in self.bones()):
            raise CaptureError(f"armature '{self.armature.name}' or bones of its hands are no longer in this file")
        return found


def sample(sources: Sequence[Source], scene: "Scene", format_name: str) -> Steps[Recording]:
    """Return a recording of the hands of armatures over their animation, at the rate of the scene or of dense keys.

    Labels are `right:wrist`, or `NAME right:wrist` for several armatures. Positions are in the world, rotations are
    those of the bones. Raises CaptureError for armatures that no longer exist, are hidden or not animated, or do not
    move.
    """
    armatures = [source.find() for source in sources]
    span, rate = animated_span(armatures, scene), scene_rate(scene)
    frames = span.frames()
    transforms = [np.empty((len(frames), 1 + len(source.bones()), 4, 4)) for source in sources]
    with _sampling_scene(scene, armatures) as name:
        for row, frame in enumerate(frames):
            for stored, current in zip(transforms, _evaluated_transforms(sources, name, float(frame)), strict=True):
                stored[row] = current
            yield Progress((row + 1) / len(frames), "Sampling the armature")
    return _recording(sources, transforms, (frames - frames[0]) / rate, rate / span.step, format_name)


@contextmanager
def _sampling_scene(scene: "Scene", armatures: "Sequence[Object]") -> Iterator[str]:
    """Create a scene with only the armatures and the rate of another scene, yield its name, and remove it."""
    sampling_scene = bpy.data.scenes.new(SCENE_NAME)
    name = sampling_scene.name
    sampling_scene.render.fps, sampling_scene.render.fps_base = scene.render.fps, scene.render.fps_base
    sampling_scene.frame_start, sampling_scene.frame_end = scene.frame_start, scene.frame_end
    for armature in armatures:
        sampling_scene.collection.objects.link(armature)
    try:
        yield name
    finally:
        # Undo or opening a file may have removed the scene.
        remaining: Scene | None = bpy.data.scenes.get(name)
        if remaining is not None:
            bpy.data.scenes.remove(remaining)


def _evaluated_transforms(sources: Sequence[Source], scene_name: str, frame: float) -> list[Floats]:
    """Return `_bone_transforms` of each armature on a frame. Raises CaptureError without a scene."""
    scene: Scene | None = bpy.data.scenes.get(scene_name)
    if scene is None:
        raise CaptureError(f"armature '{sources[0].armature.name}' was changed while it was read, read it again")
    whole = int(np.floor(frame))
    scene.frame_set(whole, subframe=frame - whole)
    depsgraph = scene.view_layers[0].depsgraph
    return [_bone_transforms(source, depsgraph) for source in sources]


def _bone_transforms(source: Source, depsgraph: "Depsgraph") -> Floats:
    """Return T_world_armature and T_armature_bone (1 + B, 4, 4) of an armature's bones."""
    armature = source.find()
    if armature.hide_viewport:
        raise CaptureError(f"armature '{armature.name}' is disabled in viewports, enable it to read its animation")
    evaluated = armature.evaluated_get(depsgraph)
    bones = evaluated.pose.bones
    return np.array([evaluated.matrix_world, *(bones[name].matrix for name in source.bones())])


def _joint_poses(source: Source, transforms: Floats) -> Floats:
    """Return T_world_bone (F, M, 4, 4) of joints, at their offsets. transforms: (F, 1 + B, 4, 4)."""
    armature, joints = source.find(), source.joints()
    world, local, upper = np.split(transforms, [1, 1 + len(joints)], axis=1)
    local = local.copy()
    for number, row in enumerate(row for row, joint in enumerate(joints) if joint.upper):
        fore = local[:, row, :3, :3]
        local[:, row, :3, :3] = _unpronated(armature, joints[row], upper[:, number, :3, :3], fore)
    poses: Floats = world @ local
    offsets = np.array([joint.offset for joint in joints])
    poses[..., :3, 3] += (poses[..., :3, :3] @ offsets[..., None])[..., 0]
    return poses


def _unpronated(armature: "Object", elbow: SourceJoint, upper: Floats, fore: Floats) -> Floats:
    """Return the poses (F, 3, 3) of a forearm's bone without pronation, from those of the upper arm and the forearm."""
    upper_rest, fore_rest, wrist_rest = (
        np.array(armature.data.bones[name].matrix_local) for name in (elbow.upper, elbow.bone, elbow.axes)
    )
    moved = [
        rot.from_matrix(rot.orthonormal(pose) @ rest[:3, :3].T)
        for pose, rest in ((upper, upper_rest), (fore, fore_rest))
    ]
    along = wrist_rest[:3, 3] - fore_rest[:3, 3]
    rotation: Floats = rot.to_matrix(remove_pronation(moved[0], moved[1], along)) @ fore_rest[:3, :3]
    return rotation


def _recording(
    sources: Sequence[Source], transforms: Sequence[Floats], times: Floats, rate: float, format_name: str
) -> Recording:
    """Return the recording of `_bone_transforms` of armatures on some frames; see `sample`."""
    poses = list(map(_joint_poses, sources, transforms))
    rotations = np.concatenate(list(map(_rotations, sources, poses, transforms)), axis=1)
    positions = np.concatenate(poses, axis=1)[..., :3, 3]
    labels = []
    for source in sources:
        prefix = f"{safe_label(source.armature.name, MAX_NAME)} " if len(sources) > 1 else ""
        labels += [f"{prefix}{hand.side}:{joint.joint}" for hand in source.hands for joint in hand.joints]
    size = float(np.nanmax(np.ptp(positions[0], axis=0)))
    if not np.ptp(positions, axis=0).max() > MIN_MOTION * size:
        raise CaptureError(f"armature '{sources[0].armature.name}' does not move in any of its {len(times)} frames")
    return Recording(
        format=format_name,
        names=tuple(labels),
        positions=positions,
        rotations=rotations,
        times=times,
        rate=rate,
        unit="m",
        up="z",
        up_is_defined=True,
    )


def _rotations(source: Source, poses: Floats, transforms: Floats) -> Floats:
    """Return the bones' rotations (F, M, 4) wxyz in the world, also for mirrored armatures.

    They are NaN at tips, and at elbows of arms that show no hand at rest: neither the armature's rest pose nor the
    elbow's bends do. poses: of the joints. transforms: see _bone_transforms.
    """
    armature, joints = source.find(), source.joints()
    rotations = rot.from_matrix(rot.orthonormal(poses[..., :3, :3] @ _axes(source)))
    rotations[:, [any(joint.offset) for joint in joints]] = np.nan
    if not arms_rest(armature, source.hands):
        uppers = transforms[:, :1] @ transforms[:, 1 + len(joints) :]
        for elbow, rotation in elbows_by_axes(source.hands, poses[..., :3, 3], rotations, uppers):
            rotations[:, elbow] = rotation
    return rotations


def _axes(source: Source) -> Floats:
    """Return the axes (M, 3, 3) of the joints' rotations in the axes of their bones."""
    bones = source.find().data.bones
    joints = source.joints()
    own, target = (
        np.array([np.array(bones[name].matrix_local)[:3, :3] for name in names])
        for names in ([joint.bone for joint in joints], [joint.axes or joint.bone for joint in joints])
    )
    axes: Floats = np.swapaxes(own, -1, -2) @ target
    return axes
