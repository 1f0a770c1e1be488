"""Bundle takes for workers: long ones first and alone, short ones together, so that all workers finish at about the
same time."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from .take_orders import TakeOrder

BUNDLES_PER_WORKER = 12
"""Minimum number of bundles per worker. With so many, workers idle at the end for at most about a twelfth of their
time."""
MAX_BUNDLE = 32
"""Maximum number of takes in a bundle, and so of takes to repeat if a worker dies; takes that it finished are kept."""
TAKE_BYTES = 200_000
"""Fixed cost of each take (opening, writing, the report page), in bytes of capture that take as long to solve."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Takes that one worker solves one after another."""

    orders: tuple[TakeOrder, ...]

    @property
    def performer(self) -> str:
        """The performer of all takes, who must be measured first; empty if there is none."""
        return self.orders[0].performer

    @property
    def cost(self) -> int:
        """Relative cost of the bundle."""
        return sum(map(cost_of, self.orders))


def cost_of(order: TakeOrder) -> int:
    """Return the relative cost of a take, estimated from the size of its capture."""
    return order.size + TAKE_BYTES


def bundles_of(orders: Iterable[TakeOrder], workers: int) -> tuple[Bundle, ...]:
    """Return the takes in bundles, the most costly first."""
    by_performer: dict[str, list[TakeOrder]] = defaultdict(list)
    for order in sorted(orders, key=lambda order: (-cost_of(order), order.name)):
        by_performer[order.performer].append(order)
    whole = sum(cost_of(order) for group in by_performer.values() for order in group)
    target_cost = whole / (max(workers, 1) * BUNDLES_PER_WORKER)
    found: list[Bundle] = []
    for group in by_performer.values():
        bundle: list[TakeOrder] = []
        cost = 0
        for order in group:
            if bundle and (cost + cost_of(order) > target_cost or len(bundle) == MAX_BUNDLE):
                found.append(Bundle(tuple(bundle)))
                bundle, cost = [], 0
            bundle.append(order)
            cost += cost_of(order)
        found.append(Bundle(tuple(bundle)))
    return tuple(sorted(found, key=lambda bundle: -bundle.cost))
