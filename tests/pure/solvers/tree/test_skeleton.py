"""Trees of bones that contradict themselves, each reported in a sentence, and the forms that rigs have."""

import numpy as np
import pytest

from knuckle.solvers.tree import (
    RestBone,
    Skeleton,
    SkeletonError,
    SwingTwistLimit,
    ball,
    chain,
    cone,
    from_bones,
    goals_by_name,
    hinge,
    solve,
)

from .trees import UP, limit_excess, loop, palm, posed, turns_inside

STEP = np.tile(np.eye(4), (2, 1, 1))
SCALED = STEP * [[[1.0]], [[2.0]]]
MIRRORED = STEP @ np.diag([-1.0, 1, 1, 1])


FREE = (ball(), ball())


def two(rest=STEP, parents=(-1, 0), limits=FREE, **more):
    return Skeleton(("a", "b"), parents, rest, limits, **more)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: two(limits=(ball(),)), "1 limits for 2 joints"),
        (lambda: two(rest=STEP[:1]), r"rest has the shape \(1, 4, 4\)"),
        (lambda: two(rest=STEP * np.nan), "rest has a value that is not a finite number"),
        (lambda: two(rest=SCALED), "scales or mirrors"),
        (lambda: two(rest=MIRRORED), "scales or mirrors"),
        (lambda: two(parents=(-1, 1)), "the parent of b is joint 1"),
        (lambda: two(parents=(-1, -1)), "the parent of b is joint -1"),
        (lambda: two(loops=((1, 1),)), r"a loop joins \(1, 1\)"),
        (lambda: two(limits=(ball(), hinge(1, -1))), "b: the twist is limited to 57 to -57 degrees"),
        (lambda: two(limits=(ball(), hinge(-4, 4))), "b: the twist is limited to -229 to 229 degrees"),
        (lambda: two(limits=(cone(4, 0, 0, 0), ball())), "a: the cone opens by 229, 0, 0, 0 degrees"),
        (lambda: two(limits=(cone(float("nan"), 0, 0, 0), ball())), "a: a limit is not a finite number"),
        (lambda: two(limits=(SwingTwistLimit(axis=(0, 0, 0)), ball())), "a: the limit's axis and side are parallel"),
        (lambda: chain("tail", UP[:1]), "tail: 1 points"),
        (lambda: chain("tail", UP[:3], [ball()]), "tail: 1 limits for 2 bones"),
        (lambda: from_bones([RestBone("a", None, (0, 0, 0), (0, 1, 0))] * 2), "'a' is there twice"),
        (lambda: from_bones([RestBone("a", "b", (0, 0, 0), (0, 1, 0))]), "the parent of 'a' is 'b'"),
        (lambda: from_bones([RestBone("a", None, (0, 0, 0), (0, np.inf, 0))]), "head or tail of 'a'"),
        (lambda: from_bones([RestBone("a", None, (0, 0, 0), (0, 1, 0))], [("a", "c")]), "a loop names 'c'"),
    ],
)
def test_a_skeleton_that_contradicts_itself_is_reported_in_a_sentence(make, sentence):
    with pytest.raises(SkeletonError, match=sentence):
        make()


def test_bones_stand_where_they_were_given():
    """At rest every joint is at its bone's head, and its Y points along the bone."""
    bones = [
        RestBone("a", None, (1, 2, 3), (1, 4, 3)),
        RestBone("back", "a", (1, 4, 3), (1, 3, 3)),
        RestBone("side", "a", (2, 4, 3), (2, 4, 5), side=(0, 1, 0)),
        RestBone("dot", "side", (2, 4, 5), (2, 4, 5)),
    ]
    tree = from_bones(bones)
    positions, turned = posed(tree, np.zeros((1, len(tree.joints), 3)))
    for bone in bones:
        at = tree.index(bone.name)
        assert positions[0, at] == pytest.approx(bone.head, abs=1e-12)
        along = np.subtract(bone.tail, bone.head)
        if along.any():
            assert turned[at].apply([0, 1, 0])[0] == pytest.approx(along / np.linalg.norm(along), abs=1e-12)
    assert turned[tree.index("side")].apply([1, 0, 0])[0] == pytest.approx([0, 1, 0], abs=1e-12)
    assert positions[0, tree.index("back-tip")] == pytest.approx([1, 3, 3], abs=1e-12)


def test_a_tentacle_curls_to_places_within_its_reach():
    """Twenty bones that taper, each bent by 25 degrees at most and twisted by 5."""
    lengths = 0.1 * 0.95 ** np.arange(20)
    points = np.concatenate([[[0, 0, 0]], np.cumsum(lengths[:, None] * [[0.0, 1, 0]], axis=0)])
    tentacle = chain("tentacle", points, cone(0.44, 0.44, 0.44, 0.44, (-0.09, 0.09)))
    positions, _ = posed(tentacle, turns_inside(tentacle, 30, 4))
    goal = positions[:, -1]
    pose, _ = solve(tentacle, goals_by_name(tentacle, {"tentacle-19-tip": goal}))
    missed = np.linalg.norm(pose.positions[:, -1] - goal, axis=-1)
    assert missed.max() < 1e-4 * tentacle.reach
    assert limit_excess(tentacle, pose.rotations) < 1e-9


def test_a_tree_out_of_reach_of_all_its_goals_still_keeps_its_lengths_and_its_loops():
    for tree, ends in ((palm(), ("one-end-tip", "three-end-tip")), (loop(), ("left-1-tip", "right-1-tip"))):
        far = {end: np.array([[50.0 * sign, 90.0, 0]]) for end, sign in zip(ends, (-1, 1), strict=True)}
        pose, _ = solve(tree, goals_by_name(tree, far))
        steps = pose.positions[:, 1:] - pose.positions[:, list(tree.parents[1:])]
        assert np.abs(np.linalg.norm(steps, axis=-1) - tree.lengths[1:]).max() < 1e-12
        for one, other in tree.loops:
            assert np.linalg.norm(pose.positions[0, one] - pose.positions[0, other]) < 5e-2
