"""Contacts that are held, and digits that are kept apart, on takes of others and three rigs: slip, depth, leaps, time.

    python tools/benchmarks/contacts.py

A take is solved onto Knuckle's own hand, MakeHuman's and a generated Rigify's. On each the contacts that are found are
held, the thumb is held on each finger as Hold Contact does, and the digits are kept apart. Depth is that of the
evidence's capsules, forward kinematics that of the hand that is keyed. Weights and thresholds were chosen on other
takes than these but for the glove's. Prints tables from which docs/how-to/contacts.md has its figures. Needs
../shared/data and Blender's module.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from knuckle.hand import rotations as rot
from knuckle.hand.flesh import PALM, Flesh
from knuckle.hand.generators import run_to_end
from knuckle.hand.joints import CHAIN_JOINTS, DIGITS, JOINT_INDEX
from knuckle.hand.kinematics import Pose, joint_frames
from knuckle.pipeline.contacts.find_contacts import find_contacts
from knuckle.pipeline.contacts.flesh_depths import pair_depths, part_depths
from knuckle.pipeline.contacts.held_contacts import HeldContact
from knuckle.pipeline.contacts.hold_contacts import hold_contacts
from knuckle.pipeline.contacts.hold_touch import HoldFailure, contact_from_touch, find_touch, hold_touch
from knuckle.pipeline.contacts.meeting_points import offsets_between
from knuckle.pipeline.contacts.settling import settle
from knuckle.pipeline.job import SolveJob
from knuckle.pipeline.recipe import Recipe
from knuckle.pipeline.take import SolvedHand
from knuckle.rig.rig_query import RigQuery
from knuckle.solvers.pose_problem import angles_of
from knuckle.tests.blender.rigs import RIGS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
TAKES = (
    "captures/leap_finger_tap.json",
    "captures/mediapipe_video.json",
    "captures/two_hands_glove.c3d",
    "captures/qualisys_glove.tsv",
    "sig18/user1/capture2_9_right.trc",
    "sig18/user1/capture2_30_right.trc",
    "sig18/user2/capture4_5_right.trc",
    "sig18/user2/capture4_29_left.trc",
    "sig18/user2/capture4_29_right.trc",
    "sig18/user3/capture4_8_right.trc",
    "sig18/user3/capture4_30_right.trc",
    "sig18/user3/capture4_33_left.trc",
    "sig18/user3/capture4_33_right.trc",
)
HANDS = ("Knuckle's own", "MakeHuman", "Rigify generated")
MAX_SECONDS, BLEND_SECONDS = 4.0, 0.8
"""s: maximum length of a take in which the thumb is held on a finger, and the blend before and after."""
AROUND_SECONDS = 1.5
"""s around a contact in which a hand may move: a joint that has far to go takes longer than the usual blend."""
LEAP_FACTOR = 1.5
"""Factor up to which a joint may turn more than in the take without counting as a jump."""


@dataclass(slots=True)
class Figures:
    """Figures of the contacts on one hand, over all takes."""

    asked: int = 0
    held: int = 0
    frames: int = 0
    slips: list[float] = field(default_factory=list)
    """mm, of each frame in which a contact is held: how far the offset of its points is from the mean."""
    apart: list[float] = field(default_factory=list)
    """mm, distance between the contact's points in those frames."""
    before: list[float] = field(default_factory=list)
    """mm, depth of the touching digits inside the other digits, in the take without contacts."""
    after: list[float] = field(default_factory=list)
    """mm, the same depth with the contacts held."""
    turns: float = -np.inf
    """°, maximum rotation of a joint in a frame beyond LEAP_FACTOR times the take's rotation."""
    steps: float = -np.inf
    """mm, maximum motion of a fingertip in a frame beyond the take's."""
    outside: int = 0
    """Frames that changed although no contact is within AROUND_SECONDS."""
    seconds: float = 0.0
    """Processor time."""

    def merge(self, other: "Figures") -> None:
        """Add the figures of another hand or take."""
        for entry in fields(self):
            values = getattr(self, entry.name), getattr(other, entry.name)
            setattr(self, entry.name, max(values) if entry.name in ("turns", "steps") else values[0] + values[1])

    def add(self, held: HeldContact, before: Pose, after: Pose, flesh: Flesh) -> None:
        """Count a contact that is held."""
        rows = slice(held.contact.first, held.contact.last + 1)
        inside = Pose.at_origin(after.hand, after.angles[rows])
        offsets = 1000 * offsets_between(inside, held.points)
        self.held += 1
        self.apart += np.linalg.norm(offsets, axis=1).tolist()
        self.slips += np.linalg.norm(offsets - offsets.mean(axis=0), axis=1).tolist()
        digits = [part for part in held.contact.parts if part != PALM]
        pairs = np.isin(flesh.parts, digits).any(axis=0)
        for deepest, pose in ((self.before, before), (self.after, after)):
            depths = pair_depths(flesh, pose.hand, pose.angles[rows])[:, pairs]
            deepest.extend(np.maximum(1000 * depths.max(axis=1), 0.0).tolist())

    def compare(self, before: Pose, after: Pose, inside: Bools) -> None:
        """Compare the motion of a take with and without contacts; inside (F,) are frames that may change."""
        rotations_deg = [
            np.rad2deg(rot.angles_between(motion.rotations[1:], motion.rotations[:-1])) for motion in (before, after)
        ]
        displacements = [np.linalg.norm(np.diff(tips(motion), axis=0), axis=-1) for motion in (before, after)]
        self.turns = max(self.turns, float((rotations_deg[1] - LEAP_FACTOR * rotations_deg[0]).max(initial=-np.inf)))
        self.steps = max(self.steps, float((displacements[1] - displacements[0]).max(initial=-np.inf)))
        self.outside += int(((before.angles != after.angles).any(axis=1) & ~inside).sum())
        self.frames += len(before)


def tips(pose: Pose) -> Floats:
    """Return the positions (F, 5, 3) mm of the fingertips, relative to the wrist."""
    tip_joints = [JOINT_INDEX[chain[-1]] for chain in CHAIN_JOINTS.values()]
    positions: Floats = (
        1000 * joint_frames(pose.hand, Pose.at_origin(pose.hand, pose.angles))[..., :3, 3][:, tip_joints]
    )
    return positions


def solved_hands(take: str, hand: str) -> Iterator[SolvedHand]:
    """Yield the hands of a take that are solved onto a rig, as a user would by default."""
    rig = None if hand == HANDS[0] else RigQuery.of(RIGS[hand]()[0])
    recipe = Recipe(str(DATA / take), rig="default" if rig is None else "scene")
    job = SolveJob(recipe, rig)
    run_to_end(job.steps())
    assert job.take is not None
    yield from job.take.hands


def hold_found(solved: SolvedHand, figures: Figures) -> None:
    """Keep the contacts that are found in a take."""
    before, times, flesh = solved.keyed, solved.targets.times, solved.flesh
    performer_flesh = Flesh.of(solved.pose.hand)
    contacts = find_contacts(
        solved.pose, times, performer_flesh, pair_depths(performer_flesh, solved.pose.hand, solved.pose.angles)
    )
    figures.asked += len(contacts)
    if not contacts:
        return
    free, started = angles_of(before.hand, DIGITS), time.process_time()
    solution = hold_contacts(before, times, flesh, free, contacts)
    after = run_to_end(settle(before, times, flesh, free, solution, everywhere=False))
    figures.seconds += time.process_time() - started
    inside = np.zeros(len(before), bool)
    for held_contact in solution.contacts:
        figures.add(held_contact, before, after, flesh)
        inside |= (times >= times[held_contact.contact.first] - AROUND_SECONDS) & (
            times <= times[held_contact.last] + AROUND_SECONDS
        )
    figures.compare(before, after, inside)


def hold_thumb(solved: SolvedHand, finger: str, figures: Figures) -> None:
    """Add a contact of the thumb with a finger in the middle of a take."""
    times, flesh = solved.targets.times, solved.flesh
    middle = float(times[len(times) // 2])
    rows = np.flatnonzero(np.abs(times - middle) <= MAX_SECONDS / 2)[1:-1]
    before, clip_times = Pose.at_origin(solved.keyed.hand, solved.keyed.angles[rows]), times[rows]
    blend = min(BLEND_SECONDS, float(clip_times[-1] - clip_times[0]) / 3)
    full = (clip_times >= clip_times[0] + blend) & (clip_times <= clip_times[-1] - blend)
    touch, free = find_touch(before, flesh, "thumb", finger), angles_of(before.hand, ("thumb", finger))
    figures.asked += 1
    started = time.process_time()
    touch_result = run_to_end(hold_touch(before, clip_times, flesh, free, touch, full=full, continues=(True, True)))
    figures.seconds += time.process_time() - started
    if isinstance(touch_result, HoldFailure) or touch_result.rows.lacks_frames:
        return
    ends = touch_result.rows.bounds
    blends = ends[0], len(before) - 1 - ends[1]
    solution = hold_contacts(before, clip_times, flesh, free, [contact_from_touch(touch, *ends)], blends=blends)
    figures.add(solution.contacts[0], before, touch_result.pose, flesh)
    figures.compare(before, touch_result.pose, np.ones(len(before), bool))


@dataclass(slots=True)
class Parted:
    """Figures of one hand whose digits are kept apart, over all takes."""

    before: list[float] = field(default_factory=list)
    """mm, depth of the deepest part in each frame, before the digits are parted."""
    after: list[float] = field(default_factory=list)
    """mm, the same depth after the digits are parted."""
    newly: list[float] = field(default_factory=list)
    """mm, the depth after parting where the performer's own digits are at most 1 mm deep."""
    moved: float = 0.0
    """mm, maximum displacement of a fingertip."""
    seconds: float = 0.0

    def merge(self, other: "Parted") -> None:
        """Add the figures of another hand or take."""
        for entry in fields(self):
            values = getattr(self, entry.name), getattr(other, entry.name)
            setattr(self, entry.name, max(values) if entry.name == "moved" else values[0] + values[1])

    def add(self, solved: SolvedHand) -> None:
        """Part the digits of a hand."""
        pose, flesh, times = solved.keyed, solved.flesh, solved.targets.times
        performer_flesh = Flesh.of(solved.pose.hand)
        performer = part_depths(performer_flesh, pair_depths(performer_flesh, solved.pose.hand, solved.pose.angles))
        started = time.process_time()
        after = run_to_end(settle(pose, times, flesh, angles_of(pose.hand, DIGITS)))
        self.seconds += time.process_time() - started
        depths = [part_depths(flesh, pair_depths(flesh, pose.hand, state.angles)) for state in (pose, after)]
        self.before += depths[0].max(axis=1).tolist()
        self.after += depths[1].max(axis=1).tolist()
        self.newly += np.where(performer <= 1.0, depths[1], 0.0).max(axis=1).tolist()
        self.moved = max(self.moved, float(np.linalg.norm(tips(after) - tips(pose), axis=-1).max()))


def pair(values: list[float]) -> str:
    """Return 99th percentile and maximum."""
    return f"{np.quantile(values, 0.99):.2f} / {max(values):.2f}" if values else "–"


def row_of(name: str, hand: str, figures: Figures) -> list[str]:
    """Return a row of the table of contacts."""
    return [
        name,
        hand,
        f"{figures.held} of {figures.asked}",
        pair(figures.slips),
        f"{max(figures.apart, default=0.0):.2f}",
        pair(figures.before),
        pair(figures.after),
        f"{figures.turns:.1f}",
        f"{figures.steps:.1f}",
        str(figures.outside),
        f"{1000 * figures.seconds / max(figures.frames, 1):.0f}",
    ]


def parted_row(hand: str, parted: Parted) -> list[str]:
    """Return a row of the table of digits that are kept apart."""
    over = f"{np.mean(np.array(parted.after) > 1.0):.2%}".replace("%", " %")
    rate = len(parted.after) / parted.seconds
    return [
        hand,
        str(len(parted.after)),
        pair(parted.before),
        pair(parted.after),
        pair(parted.newly),
        over,
        f"{parted.moved:.1f}",
        f"{rate:.0f}",
    ]


HELD_HEAD = (
    "Contacts",
    "Hand",
    "Held",
    "Slip, p99 / max mm",
    "Points apart, max mm",
    "Depth before, p99 / max mm",
    "Depth after",
    "Turn beyond 1.5 times the take's, max °",
    "Tip's step beyond the take's, max mm",
    "Frames outside changed",
    "ms a frame",
)
PARTED_HEAD = (
    "Hand",
    "Frames",
    "Depth before, p99 / max mm",
    "Depth after",
    "After, where the performer's is at most 1 mm",
    "Frames over 1 mm",
    "Fingertips moved, max mm",
    "Frames a second",
)


def table(head: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--takes", nargs="+", default=list(TAKES), help="takes to measure, below ../shared/data")
    parser.add_argument("--hands", nargs="+", choices=HANDS, default=list(HANDS))
    options = parser.parse_args()
    held_rows, parted_rows = list[list[str]](), list[list[str]]()
    for hand in options.hands:
        figures, parted_figures = Figures(), Parted()
        fingers = {finger: Figures() for finger in DIGITS[1:]}
        for take in options.takes:
            for solved in solved_hands(take, hand):
                take_figures, take_parted = Figures(), Parted()
                hold_found(solved, take_figures)
                figures.merge(take_figures)
                for finger, figures in fingers.items():
                    hold_thumb(solved, finger, figures)
                take_parted.add(solved)
                parted_figures.merge(take_parted)
                print(" | ".join(row_of(f"{take} {solved.side}", hand, take_figures)), flush=True)
                print("    parted", " | ".join(parted_row(hand, take_parted)), flush=True)
        held_rows.append(row_of("found", hand, figures))
        held_rows += [row_of(f"thumb on {finger}", hand, figures) for finger, figures in fingers.items()]
        parted_rows.append(parted_row(hand, parted_figures))
    print(table(HELD_HEAD, held_rows), table(PARTED_HEAD, parted_rows), sep="\n\n")


if __name__ == "__main__":
    main()
