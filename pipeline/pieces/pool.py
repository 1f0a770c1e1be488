"""Worker processes for a long take: as many as there are cores, each with one thread of its own."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, TypeVarTuple

from ..blas_threads import one_thread_in_new_processes
from .solve_piece import LongTake

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

PACKAGE = "knuckle"
WAITING_TASKS = 2
"""Number of tasks queued beyond those that run. More would delay a piece that is solved again, and fill the disk."""
MAX_PROCESSES = 61
"""Maximum worker processes; Windows cannot wait for more."""


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def usual_processes() -> int:
    """Return the default number of processes: one for each core; 1 inside Blender.

    Blender installs the extension under another module name, which a new process could not import.
    """
    return min(cores(), MAX_PROCESSES) if __name__.partition(".")[0] == PACKAGE else 1


class PieceWorkers(Protocol):
    """Runs tasks on a long take: solving a piece, judging a hand."""

    @property
    def max_unfinished(self) -> int:
        """Maximum number of unfinished tasks; with 1, a task can start from the result of the one before."""
        ...

    def submit(self, task: Callable[[LongTake, *Arguments], Result], *arguments: *Arguments) -> "Future[Result]":
        """Begin a task on the take."""
        ...


class OwnProcess:
    """Does each task immediately, in this process."""

    max_unfinished = 1

    def __init__(self, long: LongTake) -> None:
        self._long = long

    def submit(self, task: Callable[[LongTake, *Arguments], Result], *arguments: *Arguments) -> "Future[Result]":
        """See PieceWorkers."""
        future: Future[Result] = Future()
        future.set_result(task(self._long, *arguments))
        return future


class _Pool:
    """Does tasks in other processes."""

    def __init__(self, executor: "ProcessPoolExecutor", processes: int) -> None:
        self._executor = executor
        self.max_unfinished = processes + WAITING_TASKS

    def submit(self, task: Callable[[LongTake, *Arguments], Result], *arguments: *Arguments) -> "Future[Result]":
        """See PieceWorkers."""
        try:
            return self._executor.submit(_on_take, task, *arguments)
        except BrokenExecutor as error:
            broken: Future[Result] = Future()
            broken.set_exception(error)
            return broken


_long: LongTake | None = None
"""The take of this worker process."""


def _begin(long: LongTake) -> None:
    global _long  # noqa: PLW0603 - a worker process has one take, which is sent once
    _long = long
    # Ctrl-C reaches all processes of a terminal. The command ends its workers itself, and they end if it is killed.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_command, daemon=True).start()


def _end_with_the_command() -> None:
    from multiprocessing import parent_process

    command = parent_process()
    if command is not None:
        command.join()
        os._exit(1)


def _on_take(task: Callable[..., Result], *arguments: Any) -> Result:
    assert _long is not None
    return task(_long, *arguments)


@contextmanager
def workers_of(long: LongTake, processes: int) -> Iterator[PieceWorkers]:
    """Yield workers for a take; its processes end with the block, and tasks that have not started are dropped."""
    if processes == 1:
        yield OwnProcess(long)
        return
    # Imported here, because the import would slow every start of the command.
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import active_children, get_context

    with one_thread_in_new_processes():
        executor = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (long,))
        try:
            yield _Pool(executor, processes)
        except BaseException:
            # Do not wait for current tasks: they are no longer needed, and may take minutes.
            for worker in active_children():
                worker.terminate()
            raise
        finally:
            executor.shutdown(cancel_futures=True)
