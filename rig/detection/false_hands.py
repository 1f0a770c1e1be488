"""Reject structures that only look like hands, and choose among several hands of the same side."""

from collections.abc import Iterable, Iterator, Sequence
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
"""Chains are mirror images if they match within this fraction of their reach."""
MIN_CONFIDENCE_RATIO = 0.5
"""Hands of the same side are rejected if their confidence is below this fraction of the highest one."""
ARM_LENGTH_TOLERANCE = 0.1
"""Fraction by which the distances of a body's hands from the common ancestor of its arms may differ."""


def is_symmetric(skeleton: Skeleton, hand: Candidate) -> bool:
    """Return whether a mirror plane maps the chains onto each other, as for ears and a jaw, wings, legs or a gripper.

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
    """Return at most one hand for each side, from pairs of wrist and hand.

    Hands with little confidence are rejected, then those outside of the only pair that belongs to one body. If two
    hands have the same side, one with little confidence in its side is switched to the other side.
    """
    if _share_a_side(hands):
        min_confidence = MIN_CONFIDENCE_RATIO * max(_confidence(hand) for _, hand in hands)
        hands = [(wrist, hand) for wrist, hand in hands if _confidence(hand) >= min_confidence]
    if len(hands) == 2 and _share_a_side(hands):
        weaker = min((hand for _, hand in hands), key=lambda hand: hand.side_confidence)
        if weaker.side_confidence < MIN_SIDE_CONFIDENCE:
            other_side = mirror.other_side(weaker.side)
            hands = [(wrist, replace(hand, side=other_side) if hand is weaker else hand) for wrist, hand in hands]
    if _share_a_side(hands):
        hands = _pair_of_one_body(skeleton, hands, where)
    return tuple(hand for side in SIDES for _, hand in hands if hand.side == side)


def _share_a_side(hands: list[tuple[int, DetectedHand]]) -> bool:
    return len({hand.side for _, hand in hands}) < len(hands)


def _confidence(hand: DetectedHand) -> float:
    """Return the confidence in a hand, which grows with its number of digits."""
    return float(np.median(list(hand.confidence.values()))) * len(hand.confidence)


def _pair_of_one_body(
    skeleton: Skeleton, hands: list[tuple[int, DetectedHand]], where: str
) -> list[tuple[int, DetectedHand]]:
    """Return the only two hands that belong to one body. The others are noted as doubts.

    Raises RigError if there is no such pair.
    """
    chosen = _find_pair(skeleton, [(wrist, hand.side) for wrist, hand in hands])
    if chosen is None:
        ambiguous_side = next(side for side in SIDES if sum(hand.side == side for _, hand in hands) > 1)
        carriers = sorted(hand.carrier for _, hand in hands if hand.side == ambiguous_side)
        raise RigError(
            f"{where} has {len(carriers)} {ambiguous_side} hands, at bones {' and '.join(map(repr, carriers))}: "
            f"pick the bones of the one to drive {PICK_WHERE}"
        )
    other_hands = [hand for number, (_, hand) in enumerate(hands) if number not in chosen]
    return [
        (wrist, replace(hand, doubts=(*hand.doubts, *_doubts_of_others(hand, other_hands))))
        for wrist, hand in (hands[number] for number in chosen)
    ]


def _doubts_of_others(hand: DetectedHand, other_hands: Iterable[DetectedHand]) -> Iterator[str]:
    for other_hand in other_hands:
        if other_hand.side == hand.side:
            yield f"there is another {hand.side} hand at bone '{other_hand.carrier}'"


def _find_pair(skeleton: Skeleton, wrists: Sequence[tuple[int, str]]) -> tuple[int, int] | None:
    """Return the indices of the left and right hand (wrist, side) of one body; None if there is not exactly one pair.

    Their arms have equally many bones, and their wrists are equally far from the common ancestor.
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
