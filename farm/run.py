"""A run over many takes: bundles are sent to the workers in the order of their cost, a few ahead, and rows are
returned."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import Any

from ..errors import KnuckleError
from .bundles import Bundle, bundles_of, cost_of
from .take_orders import TakeOrder
from .take_rows import TakeRow, read_record
from .tasks import PERFORMER_FILE, FarmSettings, measure_performer, solve_bundle

BUNDLES_AHEAD = 3
"""Bundles for each worker that the scheduler has: enough that none waits, and few enough for any number of takes."""
MAX_MEASURING_TRIALS = 3
"""Maximum number of takes on which measuring a performer is tried, one after another."""
MIN_WORKERS_TO_PLAN = 32
"""Minimum number of workers for which bundles are made: a cluster may start with none, and an extra bundle costs only
milliseconds."""
TICK = 0.5
"""s between two checks of the cluster while no results arrive."""


class FarmError(KnuckleError):
    """A run that cannot begin, or cannot go on."""


class SchedulerLostError(FarmError):
    """The connection to the scheduler is lost; what was finished is kept."""


@dataclass(frozen=True, slots=True)
class Workers:
    """Where work is done."""

    executor: Executor
    """dask's executor, or another for a test."""
    count: Callable[[], int]
    """Current number of workers."""
    died_with: tuple[type[BaseException], ...] = ()
    """The error of a task whose workers died, one after another."""


class FarmRun:
    """Solve takes on workers. Iterate `rows()` to the end."""

    def __init__(self, orders: tuple[TakeOrder, ...], settings: FarmSettings, workers: Workers) -> None:
        self.settings, self.workers = settings, workers
        self.waiting = list(bundles_of(orders, max(workers.count(), MIN_WORKERS_TO_PLAN)))
        self.measuring = _to_measure(orders, settings)
        self.running: dict[Future[Any], Bundle | tuple[TakeOrder, ...]] = {}
        self.notes: dict[str, str] = {}
        """Performer -> why they could not be measured."""
        self._unmeasured = {candidates[0].performer for candidates in self.measuring}

    @property
    def unmeasured(self) -> int:
        """Number of performers that are not measured yet; their takes wait."""
        return len(self._unmeasured)

    def rows(self) -> Iterator[tuple[TakeRow, ...]]:
        """Yield the rows of takes as they arrive, and an empty list now and then while none does.

        Raises SchedulerLostError if the cluster is lost, WorkerError if its workers cannot do this work.
        """
        while self.waiting or self.running:
            self._submit()
            done, _ = wait(self.running, timeout=TICK, return_when=FIRST_COMPLETED)
            # Finished bundles are reported before lost ones.
            for future in sorted(done, key=Future.cancelled):
                yield self._collect(future)
            if not done:
                yield ()

    def _submit(self) -> None:
        """Give the scheduler work until it has enough: performers first, then bundles whose performer is known."""
        max_bundles = BUNDLES_AHEAD * max(self.workers.count(), 1)
        while self.measuring and len(self.running) < max_bundles:
            candidates = self.measuring.pop(0)
            self.running[self.workers.executor.submit(measure_performer, candidates[0], self.settings)] = candidates
        ready = (bundle for bundle in self.waiting if bundle.performer not in self._unmeasured)
        chosen = [bundle for bundle, _ in zip(ready, range(max_bundles - len(self.running)), strict=False)]
        for bundle in chosen:
            self.waiting.remove(bundle)
            orders = tuple(map(self._measured, bundle.orders))
            self.running[self.workers.executor.submit(solve_bundle, orders, self.settings)] = bundle

    def _measured(self, order: TakeOrder) -> TakeOrder:
        """Return an order with its performer's measurements, if measuring succeeded."""
        if not order.performer or order.performer in self.notes:
            return order
        path = self.settings.performer_folder(order.performer) / PERFORMER_FILE
        return replace(order, performer_file=str(path))

    def _collect(self, future: "Future[Any]") -> tuple[TakeRow, ...]:
        """Return the rows of a finished task; none for a performer, or for a bundle that is tried again."""
        work = self.running.pop(future)
        if future.cancelled():
            raise SchedulerLostError("the connection to the scheduler is lost")
        error = future.exception()
        if error is not None and not isinstance(error, self.workers.died_with):
            raise _error_of_all_workers(error) from error
        if isinstance(work, tuple):
            self._note_measuring(work, "its workers died" if error is not None else str(future.result()))
            return ()
        if error is None:
            return tuple(future.result())
        if len(work.orders) > 1:
            # One of the takes kills workers: try each alone. Takes that were finished have a record and are not solved
            # again.
            self.waiting[:0] = [Bundle((order,)) for order in work.orders]
            return ()
        (order,) = work.orders
        problem = "each worker that tried it died (is its memory too small, or does Blender crash?)"
        return (TakeRow(order.name, order.capture, "failed", problem),)

    def _note_measuring(self, candidates: tuple[TakeOrder, ...], problem: str) -> None:
        """Continue after a performer was measured on the first of the candidate takes, or could not be."""
        performer = candidates[0].performer
        if problem and len(candidates) > 1:
            self.measuring.append(candidates[1:])
            return
        if problem:
            self.notes[performer] = f"{performer} could not be measured: {problem}"
        self._unmeasured.discard(performer)


def _error_of_all_workers(error: BaseException) -> KnuckleError:
    """Return the KnuckleError to raise for an error that concerns all workers, not a take."""
    if isinstance(error, KnuckleError):
        return error
    message = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
    return FarmError(f"the workers cannot do this work, expected the same Knuckle there as here ({message})")


def _to_measure(orders: tuple[TakeOrder, ...], settings: FarmSettings) -> list[tuple[TakeOrder, ...]]:
    """Return the takes on which each performer is measured, in the order in which they are tried.

    The take on which an earlier run measured the performer comes first, since all takes would change with another one;
    then the largest.
    """
    takes: dict[str, list[TakeOrder]] = {}
    for order in orders:
        if order.performer and not order.problem:
            takes.setdefault(order.performer, []).append(order)
    found = []
    for performer, theirs in takes.items():
        known = read_record(settings.performer_folder(performer))
        measured = known.row.capture if known is not None else ""
        ranked = sorted(theirs, key=lambda order: (order.capture != measured, -cost_of(order), order.name))
        found.append(tuple(ranked[:MAX_MEASURING_TRIALS]))
    return sorted(found, key=lambda candidates: -cost_of(candidates[0]))
