"""Hands that come one after the other become frames of one moment, as soon as they can."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knuckle.capture.frame import Frame
from knuckle.capture.protocols.frame_assembler import FrameAssembler


def hand(side: str, number: int | None) -> Frame:
    return Frame((f"{side}:wrist",), np.zeros((1, 3)), number=number)


def played(sent: list[tuple[str, int]], numbered: bool = True) -> list[tuple[int, list[str]]]:
    """(how many hands had been sent, what was in the frame) of each frame."""
    rounds = FrameAssembler()
    return [
        (count, [name.partition(":")[0] for name in frame.names])
        for count, (side, number) in enumerate(sent, 1)
        for frame in rounds.add(side, hand(side, number if numbered else None))
    ]


def test_two_hands_are_one_frame_at_once() -> None:
    sent = [(side, number) for number in range(4) for side in ("left", "right")]
    both = ["left", "right"]
    assert played(sent) == [(1, ["left"]), (2, ["right"]), (4, both), (6, both), (8, both)]
    assert played(sent, numbered=False) == played(sent)


def test_a_first_round_that_is_heard_from_its_middle_is_put_right() -> None:
    sent = [("right", 0), *((side, number) for number in range(1, 4) for side in ("left", "right"))]
    assert played(sent)[-1] == (7, ["left", "right"])


def test_a_hand_that_leaves_holds_up_one_frame() -> None:
    sent = [("left", 0), ("right", 0), ("left", 1), ("right", 1), ("left", 2), ("left", 3), ("left", 4)]
    assert [count for count, _ in played(sent)] == [1, 2, 4, 6, 6, 7]


@given(st.lists(st.sets(st.sampled_from(["left", "right", "third"]), min_size=1), min_size=1, max_size=20))
def test_no_hand_is_lost_or_reported_twice_and_no_frame_is_of_two_moments(seen: list[set[str]]) -> None:
    """Whatever hands are seen in each of 20 frames."""
    rounds, order = FrameAssembler(), ("left", "right", "third")
    reported: list[tuple[str, int | None]] = []
    sent = [(side, number) for number, sides in enumerate(seen) for side in order if side in sides]
    for side, number in sent:
        for frame in rounds.add(side, hand(side, number)):
            reported += [(name.partition(":")[0], frame.number) for name in frame.names]
    # The last round may still wait for its end.
    assert sorted(reported) == sorted(entry for entry in sent if entry in reported)
    assert {entry for entry in sent if entry[1] != len(seen) - 1} <= set(reported)
