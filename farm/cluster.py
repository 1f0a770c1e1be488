"""The cluster: dask's own on this machine, or a studio's by its scheduler's address. Only this module imports dask."""

import logging
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from .run import FarmError, SchedulerLostError, Workers

CONNECT_SECONDS = 10
"""s, maximum time for a scheduler to answer."""
COUNT_SECONDS = 1.0
"""s between two queries for the number of workers."""
LOCAL_PATIENCE = 120.0
"""s without any worker on this machine after which the run ends. On a studio's cluster, a run may wait for machines."""
DASHBOARD = "127.0.0.1:8787"
ANY_LOCAL_PORT = "127.0.0.1:0"
"""Address of dask's own pages, which its processes always serve: no other machine can access them."""
ALLOWED_FAILURES = 2
"""Number of times that a worker may die with a task before the task is given up, not counting the last."""
LOCAL_SETTINGS = {
    "distributed.scheduler.allowed-failures": ALLOWED_FAILURES,
    # A worker that exceeds its memory is restarted. It neither pauses, since it would wait forever, nor spills to disk.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": 0.95,
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
}
LOGGERS = ("distributed", "distributed.client", "bokeh", "tornado", "tornado.application")
"""Logs of dask, which are kept off the terminal: rows and error messages contain what matters."""
NAMED_PACKAGES = ("distributed", "dask", "knuckle")
"""Packages that must have the same version in scheduler, workers and command, since a scheduler deserialises what it
passes on."""


@dataclass(frozen=True, slots=True)
class LocalChoices:
    """The cluster on this machine."""

    workers: int
    memory_gb: float | None
    """Memory of each worker; None divides the machine's memory among them."""
    dashboard: bool


@contextmanager
def local_cluster(choices: LocalChoices) -> Iterator[tuple[Workers, str]]:
    """Start workers on this machine, each a process of one thread; yield them, and the dashboard's address.

    They end with the block, and with this process however it ends. Raises FarmError if they cannot be started.
    """
    dask, distributed = _dask()
    if choices.dashboard:
        _expect_bokeh()
    memory = "auto" if choices.memory_gb is None else int(choices.memory_gb * 1e9)
    with dask.config.set(LOCAL_SETTINGS):
        try:
            cluster = distributed.LocalCluster(
                n_workers=choices.workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=memory,
                dashboard_address=DASHBOARD if choices.dashboard else ANY_LOCAL_PORT,
                worker_dashboard_address=ANY_LOCAL_PORT,
                silence_logs=logging.CRITICAL,
            )
        except (OSError, RuntimeError, TimeoutError) as error:
            raise FarmError(f"no workers could be started on this machine ({error})") from error
        with cluster, distributed.Client(cluster) as client:
            yield (
                _workers(distributed, client, LOCAL_PATIENCE),
                str(cluster.dashboard_link) if choices.dashboard else "",
            )


@contextmanager
def remote_cluster(address: str) -> Iterator[tuple[Workers, str]]:
    """Connect to a scheduler; yield its workers and the dashboard's address.

    Raises FarmError if there is none, or one of another version of dask.
    """
    dask, distributed = _dask()
    with dask.config.set({"distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s"}), warnings.catch_warnings():
        # Packages that matter are compared below.
        warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError, ValueError, TypeError, KeyError) as error:
            raise FarmError(
                f"{address}: no scheduler answers there, expected one that dask scheduler has started, of this version "
                f"({distributed.__version__}) ({_first_line(error)})"
            ) from error
        try:
            check_versions(client.get_versions(packages=["knuckle"]), address)
            yield _workers(distributed, client), str(client.dashboard_link)
        finally:
            with suppress(OSError, TimeoutError):
                client.close(timeout=2)


def check_versions(found: Mapping[str, Any], address: str) -> None:
    """Check the result of `Client.get_versions`. Raises FarmError for another version of Python, dask or Knuckle."""
    here = _versions(found["client"])
    workers = {f"the worker at {worker}": info for worker, info in (found.get("workers") or {}).items()}
    for who, info in {f"the scheduler at {address}": found["scheduler"], **workers}.items():
        there = _versions(info)
        for name, version in here.items():
            if there[name] != version:
                has = f"has {name} {there[name]}" if there[name] != "None" else f"has no {name}"
                raise FarmError(f"{who} {has}, expected {version} as this command")


def _versions(info: Mapping[str, Any]) -> dict[str, str]:
    """Return package -> version of a process, and Python's version without its patch level."""
    packages = {name: str(info["packages"].get(name)) for name in NAMED_PACKAGES}
    return packages | {"Python": ".".join(str(info["packages"].get("python", "")).split(".")[:2])}


class WorkerCount:
    """Counts the workers of a cluster, asking its scheduler now and then."""

    def __init__(self, client: Any, patience: float = float("inf")) -> None:
        self._client, self._patience = client, patience
        self._asked, self._count, self._seen = float("-inf"), 0, time.monotonic()

    def __call__(self) -> int:
        """Return how many there are.

        Raises FarmError for a worker of several threads, and after `patience` s without any; SchedulerLostError if the
        scheduler does not answer.
        """
        if time.monotonic() - self._asked < COUNT_SECONDS:
            return self._count
        try:
            threads = dict(self._client.nthreads())
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise SchedulerLostError("the connection to the scheduler is lost") from error
        for worker, count in threads.items():
            if count != 1:
                raise FarmError(
                    f"the worker at {worker} has {count} threads, expected 1, because Blender's module supports no "
                    "more: dask worker --nthreads 1 --nworkers auto"
                )
        self._asked, self._count = time.monotonic(), len(threads)
        if threads:
            self._seen = self._asked
        elif self._asked - self._seen > self._patience:
            raise FarmError(f"no worker has lived for {self._patience:.0f} s, expected more memory for each (--memory)")
        return self._count


def _workers(distributed: Any, client: Any, patience: float = float("inf")) -> Workers:
    return Workers(
        client.get_executor(pure=False), WorkerCount(client, patience), (distributed.scheduler.KilledWorker,)
    )


def _dask() -> tuple[Any, Any]:
    """Return dask and dask.distributed, silent. Raises FarmError if they are not installed."""
    try:
        import dask
        import distributed
    except ModuleNotFoundError as error:
        raise FarmError("dask.distributed is not installed: pip install 'knuckle[farm]'") from error
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return dask, distributed


def _expect_bokeh() -> None:
    try:
        import bokeh  # noqa: F401
    except ModuleNotFoundError as error:
        raise FarmError("dask's dashboard needs bokeh, which is not installed: pip install bokeh") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
