"""A run over many takes: work goes to the workers in the order of its cost, a few bundles ahead, and rows come back."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from ..errors import KnuckleError
from .bundles import Bundle, bundles_of, cost_of
from .take_orders import TakeOrder
from .take_rows import TakeRow
from .tasks import PERFORMER_FILE, FarmSettings, measure_performer, solve_bundle

BUNDLES_AHEAD = 3
"""Bundles for each worker that the scheduler has: enough that none waits, and few enough for any number of takes."""
TICK = 0.5
"""s between two looks at the cluster while nothing comes back."""


class FarmError(KnuckleError):
    """A run that cannot begin, or cannot go on."""


class SchedulerLostError(FarmError):
    """The scheduler is gone; what was finished is kept."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Where work is done."""

    executor: Executor
    """Of dask, or any other for a test."""
    count: Callable[[], int]
    """How many workers there are now."""
    died_with: tuple[type[BaseException], ...] = ()
    """The error of a task whose workers died, one after another."""


class FarmRun:
    """Solve takes on workers. Iterate `rows()` to the end."""

    def __init__(self, orders: tuple[TakeOrder, ...], settings: FarmSettings, workers: Workers) -> None:
        self.settings, self.workers = settings, workers
        self.waiting = list(bundles_of(orders, workers.count()))
        self.measuring = _to_measure(orders)
        self.running: dict[Future[Any], Bundle | TakeOrder] = {}
        self.notes: dict[str, str] = {}
        """Performer -> why they could not be measured."""
        self._unmeasured = {order.performer for order in self.measuring}

    @property
    def unmeasured(self) -> int:
        """How many performers are not measured yet; their takes wait."""
        return len(self._unmeasured)

    def rows(self) -> Iterator[tuple[TakeRow, ...]]:
        """Yield the rows of takes as they come, and nothing now and then while none does.

        Raises SchedulerLostError if the cluster is gone, WorkerError if its workers cannot do this work.
        """
        while self.waiting or self.running:
            self._submit()
            done, _ = wait(self.running, timeout=TICK, return_when=FIRST_COMPLETED)
            for future in done:
                yield self._collect(future)
            if not done:
                yield ()

    def _submit(self) -> None:
        """Give the scheduler work until it has enough: performers first, then bundles whose performer is known."""
        most = BUNDLES_AHEAD * max(self.workers.count(), 1)
        while self.measuring and len(self.running) < most:
            order = self.measuring.pop(0)
            self.running[self.workers.executor.submit(measure_performer, order, self.settings)] = order
        ready = (bundle for bundle in self.waiting if bundle.performer not in self._unmeasured)
        chosen = [bundle for bundle, _ in zip(ready, range(most - len(self.running)), strict=False)]
        for bundle in chosen:
            self.waiting.remove(bundle)
            told = tuple(map(self._measured, bundle.orders))
            self.running[self.workers.executor.submit(solve_bundle, told, self.settings)] = bundle

    def _measured(self, order: TakeOrder) -> TakeOrder:
        """Return an order with its performer's measurements, if they could be made."""
        if not order.performer or order.performer in self.notes:
            return order
        path = self.settings.performer_folder(order.performer) / PERFORMER_FILE
        return replace(order, performer_file=str(path))

    def _collect(self, future: "Future[Any]") -> tuple[TakeRow, ...]:
        """Return the rows of what is done, none of a performer, or of a bundle that is tried again."""
        work = self.running.pop(future)
        if future.cancelled():
            raise SchedulerLostError("the scheduler is gone")
        error = future.exception()
        if error is not None and not isinstance(error, self.workers.died_with):
            raise _of_workers(error) from error
        if isinstance(work, TakeOrder):
            problem = "its workers died" if error is not None else str(future.result())
            if problem:
                self.notes[work.performer] = f"{work.performer} could not be measured: {problem}"
            self._unmeasured.discard(work.performer)
            return ()
        if error is None:
            return tuple(future.result())
        if len(work.orders) > 1:
            # One of them kills workers: alone, each is judged by itself, and those that were finished are known.
            self.waiting[:0] = [Bundle((order,)) for order in work.orders]
            return ()
        (order,) = work.orders
        problem = "each worker that tried it died (is its memory too small, or does Blender crash?)"
        return (TakeRow(order.name, order.capture, "failed", problem),)


def _of_workers(error: BaseException) -> KnuckleError:
    """Return what is told of an error that concerns all workers, not a take."""
    if isinstance(error, KnuckleError):
        return error
    told = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return FarmError(f"the workers cannot do this work, expected the same Knuckle there as here ({told})")


def _to_measure(orders: tuple[TakeOrder, ...]) -> list[TakeOrder]:
    """Return the take on which each performer is measured, the largest, the largest of all first."""
    largest: dict[str, TakeOrder] = {}
    for order in orders:
        if order.performer and not order.problem:
            known = largest.setdefault(order.performer, order)
            if cost_of(order) > cost_of(known):
                largest[order.performer] = order
    return sorted(largest.values(), key=cost_of, reverse=True)
