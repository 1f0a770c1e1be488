"""The run of a device that is followed: a thread receives frames, a timer takes, solves and poses them."""

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
from ..capture.devices.receiver import QUEUE_LENGTH, Receiver, TimedFrame
from ..capture.network.transport import Address
from ..hand import proportions
from ..hand.generators import Progress, Steps, part_of
from ..hand.joints import SIDES, Side
from ..hand.limits import RigLimits
from ..hand.marker_sets import subject_of
from ..pipeline.live.displayed_hand import DisplayedHand, DrivenHand
from ..pipeline.live.live_session import LiveSession
from ..pipeline.live.take_buffer import TakeBuffer
from ..pipeline.performer import from_dict
from ..pipeline.recipe import Recipe
from ..rig.data_reference import DataReference
from ..rig.limits.rig_limits import armature_limits
from ..rig.live_take import LiveTake, key_live
from ..rig.posing import apply_pose
from .live_rigs import LiveRigs

if TYPE_CHECKING:
    from bpy.types import Object, Scene

Floats = NDArray[np.float64]

TIMER_INTERVAL = 1 / 250
"""s between two checks for frames, which on average wait for half of it. A check without frames costs some µs."""
WRITE_TIMEOUT = 0.5
"""s that Blender waits for the end of a raw take; a slower disk is written to in the background."""
RECORDED_FRAMES = 16
"""Frames solved per timer step while recording, when none may be skipped; more if the view is slow."""


@dataclass(frozen=True, slots=True)
class LiveSetup:
    """The device to follow, and the armatures that it drives."""

    device: str
    """A key of DEVICES."""
    address: Address
    recipe: Recipe
    angles: Any = "solved"
    pre_roll: float = 2.0
    armature: DataReference | None = None
    """The armature that the first performer drives; None for new hands."""
    people: dict[str, DataReference] = field(default_factory=dict)
    """Performer -> the armature that their hands drive."""


@dataclass(frozen=True, slots=True, eq=False)
class EndedTake:
    """A take that has ended, with the data needed to key it."""

    recorder: Recorder
    buffer: TakeBuffer
    run: "LiveRun"
    """The run that recorded the take, with the frames that are not solved yet."""
    seconds: float
    """s, from the first frame to the last, whether solved or not."""
    timecode: str
    """Timecode of the take's first frame, if the device sends timecode."""
    start: int
    """The scene's frame at the start of the take."""
    missed: int
    """Number of frames that were received faster than they could be displayed. The raw take contains them."""

    def keying(self) -> Steps[None]:
        """Solve the remaining frames, and key the displayed poses from the frame on which the take started.

        Nothing is keyed if its scene no longer exists. Raises RigError.
        """
        yield from part_of(0.0, 0.5, "Solving", self.run.solve_unread(self.buffer))
        scene: Scene | None = self.run.scene.find_in(bpy.data.scenes)
        if scene is not None and len(self.buffer):
            name, poses = self.recorder.path.stem, self.run.rigs.rig_hands()
            take = LiveTake(
                name,
                self.buffer.times,
                self.buffer.poses(),
                poses,
                predicted=self.buffer.predicted(),
                forearms=self.buffer.forearms(),
                timecode=self.timecode,
            )
            yield from part_of(0.5, 1.0, "Keying", key_live(take, scene, self.start))

    def drop(self) -> None:
        """Leave the take without keys."""
        self.run.unread.clear()


class LiveRun:
    """A device that is followed, from its creation to `stop`. Raises KnuckleError."""

    def __init__(self, setup: LiveSetup, scene: "Scene", device_transforms: dict[str, Floats] | None = None) -> None:
        """device_transforms: performer -> T_scene_device of an earlier run; recentring changes them in place."""
        self.setup = setup
        self.device_transforms: dict[str, Floats] = {} if device_transforms is None else device_transforms
        """Performer -> (4, 4) T_scene_device, set by recentring; the identity by default."""
        self.displayed_hands: list[DisplayedHand] = []
        self.timecode = ""
        """The last one that the device sent."""
        self.unread: list[TimedFrame] = []
        """Frames of a take that has ended, which are solved before later ones."""
        self.scene = DataReference.of(scene)
        self._began_at, self._start, self._missed_before = "", 1, 0
        self._ended_step = time.perf_counter()
        limited = setup.recipe.rig_limits
        self.rigs = LiveRigs(self.scene, setup.armature, setup.people, recipe=setup.recipe)
        self._limits = _limits(setup) if limited else {}
        self.session = LiveSession(setup.recipe, setup.angles, self._driven)
        self.receiver = Receiver(setup.device, DEVICES[setup.device], setup.address, setup.pre_roll)
        self.receiver.start()

    def step(self) -> bool:
        """Solve the frames that arrived and pose the hands. Return whether any hand was posed."""
        # The time before solving: a hand must not count as lost because solving took long.
        max_frames = RECORDED_FRAMES if self.session.take is not None else QUEUE_LENGTH
        now = time.perf_counter()
        if self.unread:
            return self.pose(now)
        received = self.receiver.drain(max_frames)
        self._feed(received)
        # A view that is slow to draw gets as much time as solving: the frames that are recorded must not pile up.
        while self.session.take is not None and time.perf_counter() - now < now - self._ended_step:
            has_more = self.receiver.drain(max_frames)
            if not has_more:
                break
            self._feed(has_more)
            received = has_more
        start = len(self.rigs.rig_hands())
        has_posed = self.pose(now)
        if received and has_posed:
            bpy.context.view_layer.update()
            # Starting with a new hand takes longer and would distort the latency.
            if len(self.rigs.rig_hands()) == start:
                self.receiver.stats.latencies.append(time.perf_counter() - received[-1].arrival)
        self._ended_step = time.perf_counter()
        return has_posed

    def _feed(self, received: list[TimedFrame]) -> None:
        if received:
            self.session.feed([(timed.frame, timed.arrival) for timed in received])
            self.rigs.add_performers(self.session.appeared)
            self.timecode = received[-1].frame.timecode

    def pose(self, now: float) -> bool:
        """Pose the hands as displayed at `now` s, without taking new frames. Return whether any changed."""
        self.displayed_hands = self.session.displayed(now)
        return self.rigs.pose(self.displayed_hands, self.session.hands(), self.device_transforms)

    def stop(self, put_back: bool) -> None:
        """Disconnect. put_back: whether to restore the bones' previous pose."""
        self.receiver.stop()
        self.session.close()
        if put_back:
            self.rigs.restore_pose()

    def recentre(self) -> None:
        """Move the visible hands of each performer to the rest position of their rig's hands."""
        visible = [(hand, self.rigs.rest_transform(hand.name)) for hand in self.displayed_hands if not hand.lost]
        for performer in {subject_of(hand.name) for hand, _ in visible}:
            performer_hands = [
                (hand, rest) for hand, rest in visible if rest is not None and subject_of(hand.name) == performer
            ]
            if performer_hands:
                poses, rests = (
                    {hand.side: hand.pose for hand, _ in performer_hands},
                    {hand.side: rest for hand, rest in performer_hands},
                )
                self.device_transforms[performer] = apply_pose.recentring_transform(poses, rests)
        self.rigs.invalidate()

    def record(self, folder: Path, name: str) -> None:
        """Begin a take: a raw take in a file of the folder, and the displayed poses for keys. Raises StreamError."""
        self.receiver.record(free_path(folder, name, SUFFIX), name)
        scene: Scene | None = self.scene.find_in(bpy.data.scenes)
        self._start = scene.frame_current if scene is not None else 1
        self.session.take, self._began_at = TakeBuffer(self.device_transforms), self.timecode
        self._missed_before = self.receiver.stats.overrun

    def end_recording(self) -> EndedTake | None:
        """End the take with the frames that have arrived, some of them `unread` yet; None if none is recorded."""
        # Packets that arrive from now on are no longer in the raw take.
        recorder, buffer = self.receiver.end_recording(WRITE_TIMEOUT, self.unread), self.session.take
        missed = max(0, self.receiver.stats.overrun - self._missed_before)
        self.session.take = None
        if recorder is None or buffer is None:
            self.unread.clear()
            return None
        seconds = buffer.seconds_until([_time_of(timed) for timed in self.unread])
        return EndedTake(recorder, buffer, self, seconds, self._began_at, self._start, missed)

    def solve_unread(self, buffer: TakeBuffer) -> Steps[None]:
        """Solve the frames that were left when a take ended, for its keys. Later frames wait until then."""
        count = len(self.unread)
        while self.unread:
            batch, self.unread[:RECORDED_FRAMES] = self.unread[:RECORDED_FRAMES], []
            self.session.take = buffer
            self._feed(batch)
            self.session.take = None
            yield Progress(1.0 - len(self.unread) / count)

    def _driven(self, hand: str) -> DrivenHand:
        """Return the rig's hand that a hand drives, for measuring it."""
        self.rigs.add_performers(self.session.appeared)
        armature = self.rigs.armature_of(subject_of(hand))
        return DrivenHand(needs_skin=True) if armature is None else DrivenHand(self._limits.get(armature, {}))


def _time_of(timed: TimedFrame) -> float:
    """Return the time of a frame in s, on the device's clock if it has one."""
    return timed.arrival if timed.frame.time is None else timed.frame.time


def _limits(setup: LiveSetup) -> dict[DataReference, dict[Side, RigLimits]]:
    """Return armature -> the limits of each hand. Read before anything moves: it takes about a second for each."""
    measured_hands = from_dict(setup.recipe.performer, "performer").hands if setup.recipe.performer is not None else {}
    models = {
        side: measured_hands[side].model if side in measured_hands else proportions.build(proportions.adult(side))
        for side in SIDES
    }
    limits: dict[DataReference, dict[Side, RigLimits]] = {}
    for people in {name for name in (setup.armature, *setup.people.values()) if name}:
        armature: Object | None = people.find_in(bpy.data.objects)
        if armature is not None:
            limits[people] = {side: armature_limits(armature, model) for side, model in models.items()}
    return limits
