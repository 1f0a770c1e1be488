"""Find the three joints of a thumb in a skeleton whose thumb has more bones, such as one of the carpus."""

from collections.abc import Sequence
from typing import TypeVar

from .joints import CHAIN_JOINTS

Item = TypeVar("Item")

_CMC, _MCP, _IP = CHAIN_JOINTS["thumb"][:3]


def from_cmc(thumb: Sequence[Item], tip_count: int = 0) -> Sequence[Item]:
    """Return the bones of a thumb, or their labels, from the CMC on.

    thumb: bones from the palm outwards. tip_count: number of bones at the end that only mark the tip.
    """
    return thumb[-(3 + tip_count) :]


def joints_of_thumb(thumb: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """Return joint -> label of a thumb whose CMC has several labels, or a label that says only "thumb"; else nothing.

    thumb: each label with the joint that it names, None if it names none, from the palm outwards, without the tip.
    """
    chain = from_cmc(thumb)
    named_joints = [joint for _, joint in chain]
    if named_joints not in ([_CMC, _MCP, _IP], [None, _MCP, _IP]):
        return {}
    return dict(zip((_CMC, _MCP, _IP), (label for label, _ in chain), strict=True))
