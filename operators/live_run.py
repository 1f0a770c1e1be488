"""What runs while a device is followed: a reader's thread fills, a timer of Blender's drains, solves and poses."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..hand import proportions
from ..hand.joints import SIDES, Side
from ..hand.limits import Allowed
from ..live.session import Session, Shown
from ..performer import from_dict
from ..recipe import Recipe
from ..rig import posing
from ..rig.live_take import LiveTake, key_live
from ..rig.rig_limits import allowed
from ..streams.devices import DEVICES
from ..streams.frame import person_of
from ..streams.raw_take import SUFFIX
from ..streams.receiver import Receiver
from ..streams.recorder import Recorder, free_path
from ..streams.transport import Address
from .live_rigs import LiveRigs

if TYPE_CHECKING:
    from bpy.types import Object, Scene

Floats = NDArray[np.float64]

EVERY = 1 / 250
"""s between two looks into the inbox: what comes waits for half of it, and a look at nothing costs some µs."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be followed, and what it drives."""

    device: str
    """A key of DEVICES."""
    address: Address
    recipe: Recipe
    drive: Any = "targets"
    pre_roll: float = 2.0
    armature: str | None = None
    """What the first performer's hands drive; None for new hands."""
    people: dict[str, str] = field(default_factory=dict)
    """Performer -> the armature that theirs drive."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A take that was ended."""

    recorder: Recorder
    seconds: float
    """From the first frame that was shown to the last."""
    timecode: str
    """Of its first frame, where the device sends one."""


class LiveRun:
    """Begins to listen when it is made. Raises KnuckleError."""

    def __init__(self, plan: Plan, scene: "Scene") -> None:
        self.plan = plan
        self.place: Floats = np.eye(4)
        """T_scene_device, changed by recentring."""
        self.shown: list[Shown] = []
        self.timecode = ""
        """The device's last."""
        self.scene = scene.name
        self._began_at = ""
        limited = plan.recipe.rig_limits
        self.rigs = LiveRigs(scene.name, plan.armature, plan.people, limited=limited)
        self._limits = _limits(plan) if limited else {}
        self.session = Session(plan.recipe, plan.drive, self._allowed)
        self.receiver = Receiver(plan.device, DEVICES[plan.device], plan.address, plan.pre_roll)
        self.receiver.start()

    def step(self) -> bool:
        """Takes what came, solves it and poses the hands; whether anything was posed."""
        # By the time at which the inbox is looked into: what takes long to solve was not lost meanwhile.
        now, came = time.perf_counter(), self.receiver.drain()
        if came:
            self.session.feed([(arrived.frame, arrived.at) for arrived in came])
            self.timecode = came[-1].frame.timecode
        posed = self.pose(now)
        if came and posed:
            bpy.context.view_layer.update()
            self.receiver.tally.latencies.append(time.perf_counter() - came[-1].at)
        return posed

    def pose(self, now: float) -> bool:
        """Poses the hands as they are to be shown at `now` s, without asking for what came; whether any changed."""
        self.shown = self.session.show(now)
        return self.rigs.pose(self.shown, self.session.hands(), self.place)

    def stop(self, put_back: bool) -> None:
        """Hangs up; put_back: whether the bones stand as they did before."""
        self.receiver.stop()
        self.session.close()
        if put_back:
            self.rigs.put_back()

    def recentre(self) -> None:
        """Brings the performer's hands to where those of their rigs are at rest."""
        rests: dict[Side, Floats] = {}
        for shown in self.shown:
            rest = self.rigs.rest(shown.name)
            if rest is not None:
                rests[shown.side] = rest
        if rests:
            self.place = posing.recentred({shown.side: shown.pose for shown in self.shown}, rests)
            self.rigs.again()

    def record(self, folder: Path, name: str) -> None:
        """Begins a take: the raw one in a file of the folder, and what is shown for keys. Raises StreamError."""
        self.receiver.record(free_path(folder, name, SUFFIX), name)
        self.session.kept, self._began_at = [], self.timecode

    def end_recording(self) -> Taken | None:
        """Ends the raw take, where one is recorded; what was shown is keyed by key_taken."""
        recorder, kept = self.receiver.end_recording(), self.session.kept
        if recorder is None:
            return None
        return Taken(recorder, kept[-1][0] - kept[0][0] if kept else 0.0, self._began_at)

    def key_taken(self, taken: Taken, start: float) -> None:
        """Keys what was shown during a take from the scene's frame `start` on. Raises RigError."""
        kept, self.session.kept = self.session.kept, None
        scene: Scene | None = bpy.data.scenes.get(self.scene)
        if kept and scene is not None:
            take = LiveTake(taken.recorder.path.stem, kept, self.rigs.posed(), self.place, taken.timecode)
            key_live(take, scene, start)

    def _allowed(self, hand: str, side: Side) -> Allowed:
        """What the rig that a hand drives lets it do. Called by the thread that measures."""
        return self._limits.get(self.rigs.armature_of(person_of(hand)) or "", {}).get(side, Allowed({}))


def _limits(plan: Plan) -> dict[str, dict[Side, Allowed]]:
    """armature -> what it lets each hand do. Asked before anything moves: it takes about a second a hand."""
    known = from_dict(plan.recipe.performer, "performer").hands if plan.recipe.performer is not None else {}
    models = {
        side: known[side].model if side in known else proportions.build(proportions.adult(side)) for side in SIDES
    }
    names = {name for name in (plan.armature, *plan.people.values()) if name}
    armatures: list[Object | None] = [bpy.data.objects.get(name) for name in names]
    return {
        armature.name: {side: allowed(armature, model) for side, model in models.items()}
        for armature in armatures
        if armature is not None
    }
