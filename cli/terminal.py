"""Output and confirmation prompts of the shell command."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from ..errors import KnuckleError, printable
from ..files import FileError

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""


FAILED = 3
"""Exit status if a saved take meets a condition of --fail-on, or if takes of a farm failed."""


class TakeFailedError(KnuckleError):
    """A saved take meets a condition of --fail-on, or some of several takes failed."""


def say(text: str) -> None:
    """Print text on standard output."""
    print(printable(text), flush=True)


def expect_replaceable(paths: Iterable[Path | None], force: bool) -> None:
    """Raise FileError if a file exists at one of the paths, unless `force` is set or the user agrees to replace it."""
    for path in paths:
        if path is None or force or not path.exists():
            continue
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise FileError(f"{path}: exists, expected a new name, or --force to replace it")
        print(printable(f"{path} exists. Replace it? [y/N] "), end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise FileError(f"{path}: exists and is kept")


@contextmanager
def holding_interrupts() -> Iterator[None]:
    """Delay Ctrl-C until the end. Blender handles it badly while it starts: it crashes, hangs or continues."""
    previous, signals = signal.getsignal(signal.SIGINT), list[int]()
    if previous is None or threading.current_thread() is not threading.main_thread():
        # Blender's program has its own handler, which Python could not restore; other threads get no signals.
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: signals.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if signals:
        raise KeyboardInterrupt


@contextmanager
def exiting_on_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise SystemExit: the command then ends the programs that it started, as after Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # other threads get no signals
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    previous = {number: signal.getsignal(number) for number in (getattr(signal, name) for name in names)}

    def end(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    for number in previous:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in previous.items():
            if handler is not None:
                signal.signal(number, handler)


def exit_status(run: Callable[[], None]) -> int:
    """Run a command and return its exit status; an error is printed as one sentence on standard error."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    try:
        run()
        sys.stdout.flush()
        return 0
    except TakeFailedError as failed:
        _report(str(failed))
        return FAILED
    except KnuckleError as problem:
        sentence = str(problem)
    except BrokenPipeError:
        # The reader has closed the pipe, as in `knuckle info FILE | head`.
        _discard_unwritten()
        return 0
    except KeyboardInterrupt:
        _report("interrupted")
        return INTERRUPTED
    except MemoryError:
        sentence = "not enough memory, expected a smaller capture or fewer frames (--start, --end)"
    except (OSError, UnicodeError) as error:
        sentence = f"{getattr(error, 'filename', None) or 'output'}: {getattr(error, 'strerror', None) or error}"
        _discard_unwritten()
    _report(sentence)
    return 1


def _report(sentence: str) -> None:
    """Print a sentence on one line of standard error, unless it cannot be written."""
    with suppress(OSError):
        print(printable(f"knuckle: {sentence}").replace("\n", "\\n"), file=sys.stderr, flush=True)


def exit_at_once(status: int) -> NoReturn:
    """End the process without Blender's shutdown, in which 4.5 may wait forever for a thread that closes sound devices.

    Python's own shutdown, such as deleting temporary folders, still runs.
    """
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)


def _open_closed_streams() -> None:
    """Connect streams that the shell closed (`>&-`) to the null device.

    Otherwise the next file to be opened would get a stream's descriptor, and Blender's messages would go into it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _discard_unwritten() -> None:
    """Discard output that cannot be written; otherwise Python would try again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
