"""Work on many frames in chunks that fit into a processor's cache, with a thread for each processor.

Each frame's result is independent of the others, so neither the chunks nor the threads change it.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

CHUNK_FRAMES = 16384
MAX_THREADS = 8
"""Maximum number of threads; more would only wait for the interpreter's lock."""


def for_each_chunk(frames: int, work: Callable[[slice], None]) -> None:
    """Call `work` with slices that together cover all frames, in threads. Exceptions of `work` propagate."""
    chunks = [slice(start, start + CHUNK_FRAMES) for start in range(0, frames, CHUNK_FRAMES)]
    if len(chunks) < 2:
        for chunk in chunks:
            work(chunk)
        return
    with ThreadPoolExecutor(min(MAX_THREADS, len(chunks), os.cpu_count() or 1)) as pool:
        list(pool.map(work, chunks))
