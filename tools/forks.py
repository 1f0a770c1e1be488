"""Work in a fork of this process, which does not change this process and may fail, hang or use up its time."""

import json
import os
import resource
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

MEMORY = 6 << 30
"""Maximum memory of a fork, bytes."""


def forked(work: Callable[[], Any], seconds: float, wait: float, quiet: bool = True) -> Any:
    """Return the work's result after a round trip through JSON; None if it crashes or takes too long.

    seconds: of the processor; wait: s on the clock; quiet: its output is discarded.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Blender's module has threads, which wait
        child = os.fork()
    if child == 0:
        os.close(reading)
        _run(work, writing, int(seconds) + 1, quiet)
    os.close(writing)
    answer = b""
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while select.select([pipe], [], [], wait)[0] and (chunk := pipe.read(1 << 20)):
            answer += chunk
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(answer) if answer else None


def _run(work: Callable[[], Any], out: int, seconds: int, quiet: bool) -> None:
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if quiet:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        answer = json.dumps(work()).encode()
        sys.stdout.flush()
        with os.fdopen(out, "wb") as pipe:
            pipe.write(answer)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
