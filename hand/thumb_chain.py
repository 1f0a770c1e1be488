"""Find the joints of a thumb among the bones of a skeleton with more bones than a thumb."""

from collections.abc import Sequence
from typing import TypeVar

from .joints import CHAIN_JOINTS

Item = TypeVar("Item")

_CMC, _MCP, _IP = CHAIN_JOINTS["thumb"][:3]


def from_cmc(thumb: Sequence[Item], tip_count: int = 0) -> Sequence[Item]:
    """Return a thumb's bones, or items that represent them, from the CMC on, without those of the carpus.

    thumb: from the palm outwards. tip_count: number of last bones that mark the tip or are beyond it.
    """
    return thumb[-(3 + tip_count) :]


def joints_of_thumb(thumb: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """Return joint -> label of a thumb with several labels for its CMC, or with one that says only "thumb".

    thumb: (label, the joint that its words name, None if they name none), from the palm outwards, without the tip.
    Empty if the words do not allow it.
    """
    chain = from_cmc(thumb)
    named = [joint for _, joint in chain]
    if named not in ([_CMC, _MCP, _IP], [None, _MCP, _IP]):
        return {}
    return dict(zip((_CMC, _MCP, _IP), (label for label, _ in chain), strict=True))
