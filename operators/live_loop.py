"""What runs while a device is followed: a reader's thread fills, a timer of Blender's drains, solves and poses."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..capture.devices.device_table import DEVICES
from ..capture.devices.raw_take import SUFFIX
from ..capture.devices.raw_take_recorder import Recorder, free_path
from ..capture.devices.receiver import QUEUE_LENGTH, Receiver
from ..capture.network.transport import Address
from ..hand import proportions
from ..hand.joints import SIDES, Side
from ..hand.limits import RigLimits
from ..hand.marker_sets import person_of
from ..pipeline.live.session import DisplayedHand, DrivenHand, Session
from ..pipeline.live.take_buffer import TakeBuffer
from ..pipeline.performer import from_dict
from ..pipeline.recipe import Recipe
from ..rig.data_reference import DataReference
from ..rig.limits.rig_limits import armature_limits
from ..rig.live_take import LiveTake, key_live
from ..rig.posing import apply_pose
from ..rig.posing.rig_hand import RigHand
from .live_rigs import LiveRigs

if TYPE_CHECKING:
    from bpy.types import Object, Scene

Floats = NDArray[np.float64]

EVERY = 1 / 250
"""s between two looks into the inbox: what comes waits for half of it, and a look at nothing costs some µs."""


DISK = 0.5
"""s for which Blender stands still for the end of a raw take; a disk that takes longer is written to meanwhile."""

AT_ONCE = 16
"""Frames that are solved at a look, while a take is kept that is to have them all."""


@dataclass(frozen=True, slots=True)
class LiveSetup:
    """What is to be followed, and what it drives."""

    device: str
    """A key of DEVICES."""
    address: Address
    recipe: Recipe
    drive: Any = "targets"
    pre_roll: float = 2.0
    armature: DataReference | None = None
    """What the first performer's hands drive; None for new hands."""
    people: dict[str, DataReference] = field(default_factory=dict)
    """Performer -> the armature that theirs drive."""


@dataclass(frozen=True, slots=True, eq=False)
class EndedTake:
    """A take that was ended, and what it takes to key it."""

    recorder: Recorder
    kept: TakeBuffer
    posed: dict[str, RigHand]
    timecode: str
    """Of its first frame, where the device sends one."""
    scene: DataReference
    start: int
    """The scene's frame on which it was begun."""

    def key(self) -> None:
        """Keys what was shown, if its scene is still there, from the frame on which it was begun. Raises RigError."""
        scene: Scene | None = self.scene.among(bpy.data.scenes)
        if scene is not None and len(self.kept):
            name, poses = self.recorder.path.stem, self.kept.poses()
            key_live(LiveTake(name, self.kept.times, poses, self.posed, self.timecode), scene, self.start)


class LiveRun:
    """Begins to listen when it is made. Raises KnuckleError."""

    def __init__(self, plan: LiveSetup, scene: "Scene", places: dict[str, Floats] | None = None) -> None:
        """places: of a run before, by recentring."""
        self.plan = plan
        self.places: dict[str, Floats] = {} if places is None else places
        """Performer -> (4, 4) T_scene_device, changed by recentring; the identity where there is none."""
        self.shown: list[DisplayedHand] = []
        self.timecode = ""
        """The device's last."""
        self.scene = DataReference.of(scene)
        self._began_at, self._start = "", 1
        limited = plan.recipe.rig_limits
        self.rigs = LiveRigs(self.scene, plan.armature, plan.people, limited=limited)
        self._limits = _limits(plan) if limited else {}
        self.session = Session(plan.recipe, plan.drive, self._driven)
        self.receiver = Receiver(plan.device, DEVICES[plan.device], plan.address, plan.pre_roll)
        self.receiver.start()

    def step(self) -> bool:
        """Takes what came, solves it and poses the hands; whether anything was posed."""
        # By the time at which the inbox is looked into: what takes long to solve was not lost meanwhile.
        most = AT_ONCE if self.session.kept is not None else QUEUE_LENGTH
        now, came = time.perf_counter(), self.receiver.drain(most)
        if came:
            self.session.feed([(timed.frame, timed.arrival) for timed in came])
            self.rigs.come(self.session.came)
            self.timecode = came[-1].frame.timecode
        before = len(self.rigs.posed())
        posed = self.pose(now)
        if came and posed:
            bpy.context.view_layer.update()
            # What it takes to begin with a hand says nothing of how it is followed.
            if len(self.rigs.posed()) == before:
                self.receiver.stats.latencies.append(time.perf_counter() - came[-1].arrival)
        return posed

    def pose(self, now: float) -> bool:
        """Poses the hands as they are to be shown at `now` s, without asking for what came; whether any changed."""
        self.shown = self.session.show(now)
        return self.rigs.pose(self.shown, self.session.hands(), self.places)

    def stop(self, put_back: bool) -> None:
        """Hangs up; put_back: whether the bones stand as they did before."""
        self.receiver.stop()
        self.session.close()
        if put_back:
            self.rigs.put_back()

    def recentre(self) -> None:
        """Brings the hands that are seen of each performer to where those of their rig are at rest."""
        seen = [(shown, self.rigs.rest(shown.name)) for shown in self.shown if not shown.lost]
        for performer in {person_of(shown.name) for shown, _ in seen}:
            own = [(one, rest) for one, rest in seen if rest is not None and person_of(one.name) == performer]
            if own:
                poses, rests = {one.side: one.pose for one, _ in own}, {one.side: rest for one, rest in own}
                self.places[performer] = apply_pose.recentred(poses, rests)
        self.rigs.again()

    def record(self, folder: Path, name: str) -> None:
        """Begins a take: the raw one in a file of the folder, and what is shown for keys. Raises StreamError."""
        self.receiver.record(free_path(folder, name, SUFFIX), name)
        scene: Scene | None = self.scene.among(bpy.data.scenes)
        self._start = scene.frame_current if scene is not None else 1
        self.session.kept, self._began_at = TakeBuffer(self.places), self.timecode

    def end_recording(self) -> EndedTake | None:
        """Ends the raw take, where one is recorded."""
        recorder, kept = self.receiver.end_recording(DISK), self.session.kept
        self.session.kept = None
        if recorder is None or kept is None:
            return None
        return EndedTake(recorder, kept, self.rigs.posed(), self._began_at, self.scene, self._start)

    def _driven(self, hand: str) -> DrivenHand:
        """What a hand drives that is to be measured."""
        self.rigs.come(self.session.came)
        armature = self.rigs.armature_of(person_of(hand))
        return DrivenHand(skinned=True) if armature is None else DrivenHand(self._limits.get(armature, {}))


def _limits(plan: LiveSetup) -> dict[DataReference, dict[Side, RigLimits]]:
    """armature -> what it lets each hand do. Asked before anything moves: it takes about a second a hand."""
    known = from_dict(plan.recipe.performer, "performer").hands if plan.recipe.performer is not None else {}
    models = {
        side: known[side].model if side in known else proportions.build(proportions.adult(side)) for side in SIDES
    }
    limits: dict[DataReference, dict[Side, RigLimits]] = {}
    for chosen in {one for one in (plan.armature, *plan.people.values()) if one}:
        armature: Object | None = chosen.among(bpy.data.objects)
        if armature is not None:
            limits[chosen] = {side: armature_limits(armature, model) for side, model in models.items()}
    return limits
