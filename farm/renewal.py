"""Renewal of workers that have grown: after a bundle, before the system or dask ends them in the middle of a take."""

from typing import Any

from distributed.diagnostics.plugin import WorkerPlugin

RENEWED_AT = 0.6
"""Share of its memory from which a worker is renewed. Blender's module never gives all its memory back."""
GRACE_SECONDS = 1.0
"""s in which the command fetches the rows of the last bundle; what the worker begins meanwhile another does again."""


class WorkerRenewal(WorkerPlugin):  # type: ignore[misc]  # dask has no types
    """A plugin of dask's workers."""

    def setup(self, worker: Any) -> None:
        """Begin with a worker that has just started."""
        self._worker, self._renewing = worker, False

    def transition(self, key: Any, start: str, finish: str, **_more: Any) -> None:
        """Have the worker renewed if it has grown when a task of it is done; only its nanny can start it again."""
        limit = self._worker.memory_manager.memory_limit
        if finish != "memory" or start != "executing" or self._renewing or self._worker.nanny is None or not limit:
            return
        if self._worker.monitor.get_process_memory() > RENEWED_AT * limit:
            self._renewing = True
            self._worker.loop.call_later(GRACE_SECONDS, self._renew)

    async def _renew(self) -> None:
        await self._worker.close_gracefully(restart=True, reason="knuckle-renewal")
