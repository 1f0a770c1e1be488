"""What runs while a device is followed: a reader's thread fills, a timer of Blender's drains, solves and poses."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..errors import KnuckleError
from ..hand import proportions
from ..hand.joints import SIDES, Side
from ..hand.limits import Allowed
from ..hand.markersets import claimed_side
from ..live.session import Session, Shown
from ..performer import from_dict
from ..recipe import Recipe
from ..rig import posing
from ..rig.detect import find_hands
from ..rig.live_take import LiveTake, key_live
from ..rig.posing import PosedHand
from ..rig.rig_limits import allowed
from ..rig.take_scene import new_hand
from ..streams.devices import DEVICES
from ..streams.raw_take import SUFFIX
from ..streams.receiver import Receiver
from ..streams.recorder import Recorder, free_path
from ..streams.transport import Address

if TYPE_CHECKING:
    from bpy.types import Object, Scene

Floats = NDArray[np.float64]

EVERY = 1 / 120
"""s between two looks into the inbox."""
MOST_SOLVED = 8
"""Frames that are solved at a look, the newest: where Blender is slower than the device, it must not fall behind.
A take keeps all.
"""


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


class LiveRun:
    """Begins to listen when it is made. Holds names only of what is Blender's. Raises KnuckleError."""

    def __init__(self, plan: Plan, scene: "Scene") -> None:
        self.plan = plan
        self.place: Floats = np.eye(4)
        """T_scene_device, changed by recentring."""
        self.problem = ""
        """What kept a hand from being shown, a sentence."""
        self.shown: list[Shown] = []
        self._scene = scene.name
        self._posed: dict[str, PosedHand | None] = {}
        self._made: set[str] = set()
        self._people: list[str] = []
        rig = _limits(plan) if plan.recipe.rig_limits else {}
        self.session = Session(plan.recipe, plan.drive, rig)
        self.receiver = Receiver(plan.device, DEVICES[plan.device], plan.address, plan.pre_roll)
        self.receiver.start()

    def step(self) -> bool:
        """Takes what came, solves it and poses the hands; whether anything was posed."""
        # By the time at which the inbox is looked into: what takes long to solve was not lost meanwhile.
        now, came = time.perf_counter(), self.receiver.drain()
        solved = came if self.session.kept is not None else came[-MOST_SOLVED:]
        self.session.feed([(arrived.frame, arrived.at) for arrived in solved])
        self.shown = self.session.show(now)
        posed = [self._pose(shown) for shown in self.shown]
        if came and any(posed):
            bpy.context.view_layer.update()
            self.receiver.tally.latencies.append(time.perf_counter() - came[-1].at)
        return any(posed)

    def stop(self, put_back: bool) -> None:
        """Hangs up; put_back: whether the bones stand as they did before."""
        self.receiver.stop()
        self.session.close()
        if put_back:
            for posed in filter(None, self._posed.values()):
                posing.put_back(posed)

    def recentre(self) -> None:
        """Brings the performer's hands to where those of their rigs are at rest."""
        here = {shown.side: shown.pose for shown in self.shown}
        rests: dict[Side, Floats] = {}
        for shown in self.shown:
            posed = self._posed.get(shown.name)
            armature = bpy.data.objects.get(posed.binding.armature) if posed else None
            if armature is not None and posed is not None:
                rests[shown.side] = np.array(armature.matrix_world) @ posed.binding.rest[0]
        if rests:
            self.place = posing.recentred(here, rests)

    def record(self, folder: Path, name: str) -> None:
        """Begins a take: the raw one in a file of the folder, and what is shown for keys. Raises StreamError."""
        self.receiver.record(free_path(folder, name, SUFFIX), name)
        self.session.kept = []

    def end_recording(self, start: float) -> Recorder | None:
        """Ends a take and keys it from the scene's frame `start` on. Raises RigError; the raw take is kept even so."""
        recorder, kept = self.receiver.end_recording(), self.session.kept
        self.session.kept = None
        scene: Scene | None = bpy.data.scenes.get(self._scene)
        if recorder is not None and kept and scene is not None:
            posed = {name: drives for name, drives in self._posed.items() if drives is not None}
            key_live(LiveTake(recorder.path.stem, kept, posed, self.place), scene, start)
        return recorder

    def _pose(self, shown: Shown) -> bool:
        if shown.name not in self._posed or self._remeasured(shown):
            try:
                self._posed[shown.name] = self._begin(shown)
            except KnuckleError as error:
                self._posed[shown.name], self.problem = None, str(error)
        posed = self._posed[shown.name]
        return posed is not None and posing.pose(posed, shown.pose, self.place)

    def _remeasured(self, shown: Shown) -> bool:
        posed = self._posed[shown.name]
        return posed is not None and posed.hand is not shown.pose.hand

    def _begin(self, shown: Shown) -> PosedHand | None:
        """What a hand drives from now on; None where its armature has no such hand."""
        scene = bpy.data.scenes[self._scene]
        armature = self._armature(person_of(shown.name))
        if armature is None:
            live = self.session.hands()[shown.name]
            built, _ = new_hand(live.measured.proportions, live.hand, scene.collection)
            self._made.add(built.name)
            return posing.begin(built, None, shown.pose.hand)
        found = next((found for found in find_hands(armature) if found.side == shown.side), None)
        if found is None:
            self.problem = f"armature '{armature.name}' has no {shown.side} hand, so that one is not shown"
            return None
        return posing.begin(armature, found, shown.pose.hand, limited=self.plan.recipe.rig_limits)

    def _armature(self, person: str) -> "Object | None":
        if person not in self._people:
            self._people.append(person)
        first = self._people[0] == person
        name = self.plan.people.get(person) or (self.plan.armature if first else None)
        return bpy.data.objects.get(name) if name else None


def person_of(name: str) -> str:
    """The performer of a hand: 'Anna' of 'Anna left', '' of 'left'."""
    words = name.split(" ")
    return " ".join(words[:-1]) if len(words) > 1 and claimed_side(words[-1]) else ""


def _limits(plan: Plan) -> dict[Side, Allowed]:
    """What the rig lets each hand do. Asked before anything moves: it takes about a second a hand."""
    armature = bpy.data.objects.get(plan.armature) if plan.armature else None
    if armature is None:
        return {}
    known = from_dict(plan.recipe.performer, "performer").hands if plan.recipe.performer is not None else {}
    models = {
        side: known[side].model if side in known else proportions.build(proportions.adult(side)) for side in SIDES
    }
    return {side: allowed(armature, model) for side, model in models.items()}
