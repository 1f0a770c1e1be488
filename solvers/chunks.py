"""Work on many frames in chunks that fit into a processor's cache, with a thread for each processor.

Each frame's result is independent of the others, so neither the chunks nor the threads change it.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

CHUNK = 16384
"""Frames in a chunk."""
THREADS = 8
"""Upper bound: more threads would only wait for the interpreter's lock."""


def in_chunks(frames: int, work: Callable[[slice], None]) -> None:
    """Call `work` with slices that cover all frames; exceptions of `work` propagate."""
    chunks = [slice(start, start + CHUNK) for start in range(0, frames, CHUNK)]
    if len(chunks) < 2:
        for chunk in chunks:
            work(chunk)
        return
    with ThreadPoolExecutor(min(THREADS, len(chunks), os.cpu_count() or 1)) as pool:
        list(pool.map(work, chunks))
