"""Rounds of things that come one by one end as soon as they are known to be whole."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle.capture.protocols.frame_cycle import FrameCycle

THINGS = "abcdef"
MIX = st.permutations(THINGS)


def rounds(things: str, first: str) -> list[tuple[int, dict[str, int]]]:
    """(how many things had come, the newest turn of each) of each round that ended."""
    cycle, turns = FrameCycle(lambda window: first if first in window else next(iter(window))), dict[str, int]()
    found = []
    for count, thing in enumerate(things):
        overdue, ends = cycle.advance(thing, True)
        if overdue:
            found.append((count, dict(turns)))
        turns[thing] = turns.get(thing, 0) + 1
        if ends:
            found.append((count + 1, dict(turns)))
    return found


@given(MIX, st.integers(0, 5))
def test_rounds_end_with_their_last_thing_wherever_listening_began(order: list[str], start: int) -> None:
    whole = "".join(order)
    heard = (whole * 6)[start:]
    counts = [count for count, _ in rounds(heard, order[0])]
    # One time round is needed to learn the order, and then the round has to begin.
    wanted = [6 * number - start for number in range(1, 7)]
    assert counts == wanted[-len(counts) :] and len(counts) >= 4


@given(MIX, st.sets(st.integers(0, 5), min_size=1, max_size=3))
def test_things_that_are_lost_once_leave_the_rounds_after_them_as_they_are(order: list[str], lost: set[int]) -> None:
    whole = "".join(order)
    less = "".join(thing for place, thing in enumerate(order) if place not in lost)
    found = [count for count, _ in rounds(whole * 4 + less + whole * 4, order[0])]
    end = 24 + len(less)
    assert [count for count in found if count > end] == [end + 6 * number for number in range(1, 5)]
    assert len([count for count in found if 24 < count <= end]) == 1


@pytest.mark.parametrize("now_and_then", ["first", "last"])
def test_a_thing_that_comes_in_every_second_round_holds_up_none(now_and_then: str) -> None:
    whole = "tabc" if now_and_then == "first" else "abct"
    pieces = [whole, "abc"] * 8
    ends = list(accumulate(map(len, pieces)))
    wanted = [end - (now_and_then == "last" and len(piece) == 4) for end, piece in zip(ends, pieces, strict=True)]
    found = [count for count, _ in rounds("".join(pieces), whole[0])]
    assert found[-10:] == wanted[-10:]


@given(MIX, st.integers(1, 5))
def test_things_that_stay_away_and_return_hold_up_two_rounds(order: list[str], kept: int) -> None:
    whole, less = "".join(order), "".join(order[:kept])
    heard = whole * 4 + less * 8 + whole * 8
    found = [count for count, _ in rounds(heard, order[0])]
    wanted = [*range(24 + 3 * kept, 24 + 8 * kept + 1, kept), *range(24 + 8 * kept + 24, len(heard) + 1, 6)]
    assert set(wanted) <= set(found)


@given(MIX, MIX)
def test_another_order_is_learnt(order: list[str], other: list[str]) -> None:
    heard = "".join(order) * 4 + "".join(other) * 40
    found = [(count, turns) for count, turns in rounds(heard, other[0]) if count > len(heard) - 24]
    assert [count for count, _ in found[-4:]] == [len(heard) - 18, len(heard) - 12, len(heard) - 6, len(heard)]
    assert all(len(set(turns.values())) == 1 for _, turns in found[-4:])


@given(st.text("abcd", max_size=60))
def test_whatever_comes_no_round_is_reported_twice(things: str) -> None:
    counts = [count for count, _ in rounds(things, "a")]
    assert counts == sorted(set(counts))
