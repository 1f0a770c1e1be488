"""PyPI's vmcp, a sender of the VMC protocol that is not ours."""

from collections.abc import Iterator
from contextlib import contextmanager

from osc4py3 import oscdispatching
from vmcp.osc import OSC
from vmcp.osc.backend.osc4py3 import as_eventloop


@contextmanager
def speaking() -> Iterator[OSC]:
    """Its OSC system; there may be one at a time."""
    try:
        with OSC(as_eventloop) as system:
            yield system
    finally:
        # osc4py3 1.0.3 keeps the name of a dispatcher that it has ended, and then takes no second one.
        oscdispatching.all_dispatchers.clear()
