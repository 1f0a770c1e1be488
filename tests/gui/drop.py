"""Drops files on the window under a point of the screen, as a file manager does: the source's side of XDND.

Run by the driver in a process of its own, because Blender must answer while it waits: drop.py X Y FILE...
Ends with 0 when the window has said that it took the drop.
"""

import sys
import time
from pathlib import Path
from typing import Any

from Xlib import X, Xatom, display
from Xlib.protocol import event

SECONDS = 60
"""How long the window may take to answer. A source that leaves before ends Blender: its answer to a window that is gone
is an error of X, on which Xlib exits."""


class Drop:
    """One drag from outside, with everything it needs of the X server."""

    def __init__(self, x: int, y: int, files: list[str]) -> None:
        self.display = display.Display()
        self.root = self.display.screen().root
        self.position = (x, y)
        self.uris = "".join(f"{Path(file).as_uri()}\r\n" for file in files).encode()
        self.source = self.root.create_window(0, 0, 1, 1, 0, X.CopyFromParent)
        self.source.set_selection_owner(self.atom("XdndSelection"), X.CurrentTime)
        self.target = self.window_under_pointer()

    def atom(self, name: str) -> int:
        return int(self.display.intern_atom(name))

    def window_under_pointer(self) -> Any:
        self.root.warp_pointer(*self.position)
        self.display.sync()
        window = self.root
        while window and not window.get_full_property(self.atom("XdndAware"), X.AnyPropertyType):
            window = window.query_pointer().child
        if not window:
            sys.exit(f"no window at {self.position} takes drops")
        return window

    def tell(self, message: str, *data: int) -> None:
        numbers = [self.source.id, *data, 0, 0, 0, 0][:5]
        note = event.ClientMessage(window=self.target, client_type=self.atom(message), data=(32, numbers))
        self.target.send_event(note)
        self.display.flush()

    def wait_for(self, message: str) -> None:
        """Answer requests for the files' names until the target sends this message."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if not self.display.pending_events():
                time.sleep(0.01)
                continue
            found = self.display.next_event()
            if found.type == X.SelectionRequest:
                self.give(found)
            elif found.type == X.ClientMessage and found.client_type == self.atom(message):
                return
        sys.exit(f"the window sent no {message} in {SECONDS} s")

    def give(self, request: Any) -> None:
        request.requestor.change_property(request.property, request.target, 8, self.uris)
        answer = event.SelectionNotify(
            time=request.time,
            requestor=request.requestor,
            selection=request.selection,
            target=request.target,
            property=request.property,
        )
        request.requestor.send_event(answer)
        self.display.flush()

    def run(self) -> None:
        x, y = self.position
        version = 5 << 24
        self.tell("XdndEnter", version, self.atom("text/uri-list"), Xatom.STRING)
        for _ in range(2):  # a drag that moves, so that the window has drawn where it would drop
            self.tell("XdndPosition", 0, x << 16 | y, X.CurrentTime, self.atom("XdndActionCopy"))
            self.wait_for("XdndStatus")
            time.sleep(0.3)
        self.tell("XdndDrop", 0, X.CurrentTime)
        self.wait_for("XdndFinished")


if __name__ == "__main__":
    Drop(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]).run()
