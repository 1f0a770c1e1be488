"""Work on many frames, some at a time: so few that they stay in a processor's cache, in as many threads as there are
processors. What is worked out for a frame does not depend on the others, so neither how they are cut nor which thread
has them changes anything.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

CHUNK = 16384
"""Frames at a time."""
THREADS = 8
"""At most: beyond these the interpreter, which one thread has at a time, is what they wait for."""


def in_chunks(frames: int, work: Callable[[slice], None]) -> None:
    """Calls `work` with slices that cover this many frames. What it raises is raised."""
    chunks = [slice(begin, begin + CHUNK) for begin in range(0, frames, CHUNK)]
    if len(chunks) < 2:
        for chunk in chunks:
            work(chunk)
        return
    with ThreadPoolExecutor(min(THREADS, len(chunks), os.cpu_count() or 1)) as pool:
        list(pool.map(work, chunks))
