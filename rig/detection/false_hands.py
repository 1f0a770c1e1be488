"""Rejection of structures that only look like hands, and the choice among several hands of one side."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from ...errors import RigError
from ...hand import mirror
from ...hand.joints import SIDES
from .chains import Candidate
from .detected_hand import MIN_SIDE_CONFIDENCE, PICK_WHERE, DetectedHand
from .skeleton import Skeleton

Floats = NDArray[np.float64]

MIRROR_TOLERANCE = 0.02
"""Chains are mirror images if they match within this share of their reach."""
MIN_CONFIDENCE_RATIO = 0.5
"""Of several hands of a side, those with less than this share of the greatest confidence are rejected."""
ARM_LENGTH_TOLERANCE = 0.1
"""A body's hands are equally far from where its arms part, up to this share."""


def is_symmetric(skeleton: Skeleton, hand: Candidate) -> bool:
    """Whether a mirror plane maps the chains onto each other, as for ears and a jaw, wings, legs or a gripper.

    No hand is symmetric in this way.
    """
    heads = [skeleton.heads[list(chain)] for chain in hand.chains]
    reach = max(float(np.linalg.norm(points - hand.wrist_position, axis=-1).max()) for points in heads)
    for first, second in combinations(heads, 2):
        normal = first[0] - second[0]
        length = float(np.linalg.norm(normal))
        if len(first) != len(second) or length < MIRROR_TOLERANCE * reach:
            continue
        normal, middle = normal / length, (first[0] + second[0]) / 2
        mirrored = [points - 2 * ((points - middle) @ normal)[:, None] * normal for points in heads]
        if all(any(_match(points, image, reach) for points in heads) for image in mirrored):
            return True
    return False


def _match(points: Floats, image: Floats, reach: float) -> bool:
    return len(points) == len(image) and bool(np.abs(points - image).max() < MIRROR_TOLERANCE * reach)


def one_per_side(skeleton: Skeleton, hands: list[tuple[int, DetectedHand]], where: str) -> tuple[DetectedHand, ...]:
    """Return at most one hand for each side, from pairs of wrist and hand: the clear ones, of these one body's pair.

    Of two hands of the same side, one with little confidence in its side is switched to the other.
    """
    if _share_a_side(hands):
        least = MIN_CONFIDENCE_RATIO * max(_confidence(hand) for _, hand in hands)
        hands = [(wrist, hand) for wrist, hand in hands if _confidence(hand) >= least]
    if len(hands) == 2 and _share_a_side(hands):
        weaker = min((hand for _, hand in hands), key=lambda hand: hand.side_confidence)
        if weaker.side_confidence < MIN_SIDE_CONFIDENCE:
            other = mirror.other_side(weaker.side)
            hands = [(wrist, replace(hand, side=other) if hand is weaker else hand) for wrist, hand in hands]
    if _share_a_side(hands):
        hands = _pair_of_one_body(skeleton, hands, where)
    return tuple(hand for wanted in SIDES for _, hand in hands if hand.side == wanted)


def _share_a_side(hands: list[tuple[int, DetectedHand]]) -> bool:
    return len({hand.side for _, hand in hands}) < len(hands)


def _confidence(hand: DetectedHand) -> float:
    """Return the confidence in a hand, which grows with its number of digits."""
    return float(np.median(list(hand.confidence.values()))) * len(hand.confidence)


def _pair_of_one_body(
    skeleton: Skeleton, hands: list[tuple[int, DetectedHand]], where: str
) -> list[tuple[int, DetectedHand]]:
    """Return the only two hands that belong to one body, with the others noted as doubts.

    Raises RigError if there is no such pair.
    """
    chosen = _find_pair(skeleton, [(wrist, hand.side) for wrist, hand in hands])
    if chosen is None:
        wanted = next(side for side in SIDES if sum(hand.side == side for _, hand in hands) > 1)
        carriers = sorted(hand.carrier for _, hand in hands if hand.side == wanted)
        raise RigError(
            f"{where} has {len(carriers)} {wanted} hands, at bones {' and '.join(map(repr, carriers))}: "
            f"pick the bones of the one to drive {PICK_WHERE}"
        )
    others = [hand for number, (_, hand) in enumerate(hands) if number not in chosen]
    return [
        (wrist, replace(hand, doubts=(*hand.doubts, *(_other(one) for one in others if one.side == hand.side))))
        for wrist, hand in (hands[number] for number in chosen)
    ]


def _other(hand: DetectedHand) -> str:
    return f"there is another {hand.side} hand at bone '{hand.carrier}'"


def _find_pair(skeleton: Skeleton, wrists: Sequence[tuple[int, str]]) -> tuple[int, int] | None:
    """Return the indices of the left and right hand (wrist, side) of one body; None if there is not exactly one pair.

    Their arms have equally many bones, and equal distances from where they part.
    """
    pairs = [
        (left, right)
        for left, right in permutations(range(len(wrists)), 2)
        if wrists[left][1] == "left" and wrists[right][1] == "right"
        if _are_one_body(skeleton, wrists[left][0], wrists[right][0])
    ]
    return pairs[0] if len(pairs) == 1 else None


def _are_one_body(skeleton: Skeleton, left: int, right: int) -> bool:
    left_chain, right_chain = [left, *skeleton.ancestors(left)], [right, *skeleton.ancestors(right)]
    common = next((bone for bone in left_chain if bone in right_chain), None)
    if common is None or left_chain.index(common) != right_chain.index(common):
        return False
    distances = [float(np.linalg.norm(skeleton.heads[wrist] - skeleton.heads[common])) for wrist in (left, right)]
    return abs(distances[0] - distances[1]) < ARM_LENGTH_TOLERANCE * max(distances)
