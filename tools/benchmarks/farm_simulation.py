"""A farm larger than this machine, simulated: workers take bundles from one scheduler that needs a while for each."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from knuckle.farm.bundles import bundles_of
from knuckle.farm.take_orders import TakeOrder


@dataclass(frozen=True, slots=True)
class Course:
    """Result of a simulated run."""

    workers: int
    seconds: float
    """Time from start to end."""
    efficiency: float
    """Work divided by the workers' capacity in that time."""
    scheduler: float
    """Fraction of the time in which the scheduler was busy."""
    bundles: int


def simulate(takes: Sequence[tuple[int, float]], workers: int, per_bundle: float, start: float) -> Course:
    """Return the result of a run over takes, each given as bytes and s of work.

    per_bundle: s of the scheduler's and the command's time for each bundle, one after another; start: s until a worker
    works.
    """
    orders = [TakeOrder(f"{number:07}", "", size) for number, (size, _) in enumerate(takes)]
    cost = {order.name: seconds for order, (_, seconds) in zip(orders, takes, strict=True)}
    bundles = [sum(cost[order.name] for order in bundle.orders) for bundle in bundles_of(orders, workers)]
    free = [start] * workers
    heapq.heapify(free)
    scheduler = 0.0
    end = 0.0
    for work in bundles:
        scheduler = max(scheduler, heapq.heappop(free)) + per_bundle
        heapq.heappush(free, scheduler + work)
        end = max(end, scheduler + work)
    busy = len(bundles) * per_bundle
    return Course(workers, end, sum(bundles) / (workers * end), busy / end, len(bundles))


def resampled(takes: Sequence[tuple[int, float]], count: int, seed: int = 0) -> list[tuple[int, float]]:
    """Return the given number of takes, drawn from those that were measured."""
    indices = np.random.default_rng(seed).integers(0, len(takes), count)
    return [takes[int(number)] for number in indices]
