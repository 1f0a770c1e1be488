"""Visits to the problems of a take: what counts as visited after a mend, and the way back and forth."""

from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import given

from knuckle.rig.keys.take_problems import TakeProblem
from knuckle.rig.keys.visited_problems import MAX_VISITS, Visits

THUMB = TakeProblem("right", ("thumb",), 10.0, 30.0, 20.0, 4.0, "thumb marker jumped", "marker_leap")
PLACES = st.lists(st.tuples(st.sampled_from(["thumb", "palm"]), st.integers(0, 9)), unique=True, max_size=12)


def problem(part: str, first: float, last: float) -> TakeProblem:
    return replace(THUMB, parts=(part,), first=first, last=last, worst=(first + last) / 2)


@given(PLACES)
def test_a_round_goes_to_each_problem_once_in_its_rank_and_back_over_all(places: list[tuple[str, int]]) -> None:
    problems = [problem(part, 10.0 * place, 10.0 * place + 8.0) for part, place in places]
    visits = Visits()
    for each in problems:
        assert visits.unvisited(problems)[0] == each
        visits = visits.with_visit(each)
    assert visits.unvisited(problems) == []
    again = visits.next_round()
    assert again.unvisited(problems) == problems and again.order == tuple(problems)
    assert again.next_round() == Visits(), "rounds before that are forgotten"
    for number, each in enumerate(problems):
        later, around = problems[number + 1 :], [*reversed(problems[:number]), *reversed(problems[number:])]
        assert list(visits.later(each, problems)) == later
        assert list(visits.earlier(each, problems)) == around


def test_what_a_mend_leaves_of_a_place_is_visited_and_what_is_longer_or_elsewhere_is_not() -> None:
    visits = Visits().with_visit(THUMB)
    left = problem("thumb", 12.0, 18.0), replace(problem("thumb", 20.0, 40.0), parts=("palm", "thumb"))
    other = problem("thumb", 21.0, 40.0), problem("palm", 12.0, 18.0), replace(left[0], hand="left")
    assert visits.unvisited([*left, *other]) == list(other)
    assert visits.unvisited([THUMB, *left, *other]) == [*left, *other], "beside the place itself they are others"
    grown = problem("thumb", 2.0, 90.0)
    assert visits.unvisited([grown]) == [grown]
    mended = visits.with_remains(THUMB, [grown])
    assert mended.unvisited([grown]) == []
    assert list(mended.earlier(grown, [grown])) == [grown]


def test_what_is_left_follows_the_place_and_belongs_to_its_round() -> None:
    first, last = problem("palm", 0.0, 5.0), problem("palm", 80.0, 90.0)
    left = [problem("thumb", 12.0, 18.0), problem("thumb", 22.0, 28.0)]
    order = first, THUMB, *left, last
    for round_start, this_round in ((2, order[4:]), (1, order[1:]), (0, order)):
        after = Visits((first, THUMB, last), round_start).with_remains(THUMB, left)
        assert after.order == order and after.order[after.round_start :] == this_round
    assert Visits((first,)).with_remains(THUMB, left) == Visits((first,)), "it was not visited"


def test_a_part_of_a_visited_problem_counts_as_visited_only_once_that_is_no_more() -> None:
    visits, part = Visits((problem("palm", 0.0, 5.0), THUMB)), problem("thumb", 12.0, 18.0)
    assert visits.at(THUMB, [THUMB, part]) == 1
    assert visits.at(part, [part]) == 1
    assert visits.at(part, [THUMB, part]) is None
    assert visits.at(problem("thumb", 50.0, 60.0), []) is None


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted), min_size=2, max_size=2), st.booleans())
def test_problems_are_beside_each_other_and_in_the_same_place_by_the_frames_in_common(
    spans: list[list[int]], same_part: bool
) -> None:
    one, other = (problem("thumb", *map(float, span)) for span in spans)
    other = other if same_part else replace(other, parts=("palm",))
    frames = [{*range(first, last + 1)} for first, last in spans]
    beside = same_part and not frames[0].isdisjoint(frames[1])
    between = [{*range(first, last)} for first, last in spans]
    whole = range(min(min(each) for each in frames), max(max(each) for each in frames))
    same = beside and 2 * len(between[0] & between[1]) >= len(whole)
    assert one.is_beside(other) == other.is_beside(one) == beside
    assert one.is_same_problem(other) == other.is_same_problem(one) == same


def test_the_visits_that_are_kept_are_bounded() -> None:
    visits = Visits()
    for number in range(MAX_VISITS + 5):
        visits = visits.with_visit(problem("thumb", number, number))
    assert len(visits.order) == MAX_VISITS and visits.order[0].first == 5.0 and visits.round_start == 0
    visits = replace(visits, round_start=MAX_VISITS - 2)
    after = visits.with_remains(visits.order[-1], [problem("palm", 0.0, 1.0), problem("palm", 2.0, 3.0)])
    assert len(after.order) == MAX_VISITS
    assert after.order[after.round_start] == visits.order[visits.round_start], "the round starts where it did"
