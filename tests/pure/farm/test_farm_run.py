"""The course of a run, on workers that are made up: everything comes back once, whatever becomes of the workers."""

from collections import Counter
from concurrent.futures import Executor, Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle.farm.run import FarmError, FarmRun, SchedulerLostError, Workers
from knuckle.farm.take_orders import TakeOrder
from knuckle.farm.take_rows import TakeRow
from knuckle.farm.tasks import FarmSettings, WorkerError, measure_performer

SETTINGS = FarmSettings("/out", ("report",), False, "1")


class WorkerDiedError(Exception):
    """What dask says of a task whose workers died."""


class MadeWorkers(Executor):
    """Workers that solve at once, and die of some takes."""

    def __init__(self, deadly=(), unmeasurable=(), error=None, lost_after=None):
        self.deadly, self.unmeasurable, self.error, self.lost_after = deadly, unmeasurable, error, lost_after
        self.submitted = []
        self.solved = []

    def submit(self, fn, /, *args, **_kwargs):
        future: Future[Any] = Future()
        self.submitted.append((fn, args[0]))
        if self.lost_after is not None and len(self.submitted) > self.lost_after:
            future.cancel()
            future.set_running_or_notify_cancel()
        elif self.error is not None:
            future.set_exception(self.error)
        elif fn is measure_performer:
            future.set_result("is never still" if args[0].performer in self.unmeasurable else "")
        elif any(order.name in self.deadly for order in args[0]):
            future.set_exception(WorkerDiedError())
        else:
            self.solved += args[0]
            future.set_result(tuple(TakeRow(order.name, "", "solved") for order in args[0]))
        return future


def run(orders, executor, count=2):
    farm = FarmRun(tuple(orders), SETTINGS, Workers(executor, lambda: count, (WorkerDiedError,)))
    return farm, [row for rows in farm.rows() for row in rows]


def orders_of(*sizes, performers=("",)):
    return [
        TakeOrder(f"t{number:03}", f"/t{number}", size, performer=performers[number % len(performers)])
        for number, size in enumerate(sizes)
    ]


@given(
    st.lists(st.integers(0, 10**8), min_size=1, max_size=60),
    st.sets(st.integers(0, 59), max_size=4),
    st.integers(0, 5),
    st.sampled_from([("",), ("Ada", ""), ("Ada", "Ben")]),
)
def test_each_take_comes_back_once_and_only_the_deadly_ones_fail(sizes, deadly, workers, performers):
    names = {f"t{number:03}" for number in deadly}
    farm, rows = run(orders_of(*sizes, performers=performers), MadeWorkers(names, ["Ben"]), workers)
    assert Counter(row.name for row in rows) == Counter(f"t{number:03}" for number in range(len(sizes)))
    assert {row.name for row in rows if row.state == "failed"} == {row.name for row in rows} & names
    assert all("died" in row.problem for row in rows if row.state == "failed")
    assert farm.unmeasured == 0


def test_the_longest_take_goes_first():
    executor = MadeWorkers()
    run(orders_of(10, 10**7, 5, 10**6, 20), executor)
    assert [order.name for order in executor.solved][:2] == ["t001", "t003"]


def test_a_performer_is_measured_on_their_largest_take_before_any_is_solved():
    executor = MadeWorkers(unmeasurable=["Ben"])
    farm, rows = run(orders_of(10, 30, 20, 10**6, performers=("Ada", "Ben")), executor)
    measured = [order for fn, order in executor.submitted if fn is measure_performer]
    assert [order.name for order in measured if order.performer == "Ada"] == ["t002"]
    assert [order.name for order in measured if order.performer == "Ben"] == ["t003", "t001"], "then the next largest"
    files = {order.name: order.performer_file for order in executor.solved}
    assert {files["t000"], files["t002"]} == {str(Path("/out/performers/Ada/performer.json"))}
    assert {files["t001"], files["t003"]} == {""}, "who cannot be measured is measured by each take itself"
    assert list(farm.notes.values()) == ["Ben could not be measured: is never still"] and len(rows) == 4


def test_no_more_than_a_few_bundles_wait_at_the_scheduler():
    most = 0

    class Waiting(MadeWorkers):
        def submit(self, fn, /, *args, **kwargs):
            nonlocal most
            most = max(most, len(farm.running) + 1)
            return super().submit(fn, *args, **kwargs)

    orders = orders_of(*([10**6] * 200))
    farm = FarmRun(tuple(orders), SETTINGS, Workers(Waiting(), lambda: 4))
    assert sum(map(len, farm.rows())) == 200
    assert 4 < most <= 12


def test_a_lost_scheduler_and_wrong_workers_end_the_run_in_one_sentence():
    with pytest.raises(SchedulerLostError, match="the connection to the scheduler is lost"):
        run(orders_of(*([10**6] * 40)), MadeWorkers(lost_after=3))
    with pytest.raises(WorkerError, match="has Knuckle 1"):
        run(orders_of(1), MadeWorkers(error=WorkerError("a worker has Knuckle 1")))
    with pytest.raises(FarmError, match=r"the workers cannot do this work, .*No module named 'knuckle'"):
        run(orders_of(1), MadeWorkers(error=ModuleNotFoundError("No module named 'knuckle'")))


def test_a_take_with_a_problem_measures_nobody():
    (order,) = orders_of(1, performers=("Ada",))
    executor = MadeWorkers()
    run([replace(order, problem="no recipe", performer="")], executor)
    assert all(fn is not measure_performer for fn, _ in executor.submitted)
