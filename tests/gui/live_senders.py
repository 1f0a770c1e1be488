"""Devices for the live scenarios: processes that send to a port, one at a time, as the scenario asks for them.

python live_senders.py vmc PORT                  vmcp, which is not ours: an avatar whose hands open and close
python live_senders.py ARGUMENTS of knuckle      our own shell, to play a capture as a device
"""

import runpy
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

HERE = Path(__file__).parent
RATE = 30.0


class Senders:
    """A thread that keeps the process running whose name stands in a file; none where it is empty."""

    def __init__(self, asked: Path, commands: Mapping[str, Sequence[str]]) -> None:
        self._asked, self._commands = asked, commands
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._asked.write_text("")
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        running, name = None, ""
        while not self._end.wait(0.1):
            asked = self._asked.read_text()
            if asked == name:
                continue
            _stop(running)
            name = asked
            command = [sys.executable, str(HERE / "live_senders.py"), *self._commands.get(name, ())]
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL) if name else None
        _stop(running)


def _stop(process: "subprocess.Popen[bytes] | None") -> None:
    if process is not None:
        process.terminate()
        process.wait()


def share(at: float) -> float:
    """How far the hands are closed at a time, s: open for 3 s, closed for 3 s, and a second in between."""
    phase = at % 8.0
    return float(np.clip(min(phase - 3.0, 8.0 - phase), 0.0, 1.0))


def vmc(port: int) -> None:
    """Sends an avatar by vmcp until it is ended."""
    from vmcp.osc import OSC
    from vmcp.osc.backend.osc4py3 import as_eventloop
    from vmcp.osc.typing import Message
    from vmcp.protocol import bone_transform
    from vmcp.protocol import time as clock
    from vmcp.typing import Bone, CoordinateVector, Quaternion, Timestamp

    from knuckle.tests.pure.streams.avatar import Avatar, fist, turn

    arms = {
        f"{side}{part}": turn(axis, sign * degrees)
        for side, sign in (("Left", 1), ("Right", -1))
        for part, axis, degrees in (("UpperArm", (0, 0, 1), 75), ("LowerArm", (0, 1, 0), 75))
    }
    began = time.perf_counter()
    with OSC(as_eventloop) as system:
        sender = system.create_sender("127.0.0.1", port, "avatar").open()
        number = 0
        while True:
            at = number / RATE
            time.sleep(max(0.0, began + at - time.perf_counter()))
            closed = [fist(side, tuple(share(at) * np.array((75.0, 85.0, 50.0)))) for side in ("Left", "Right")]
            bones = [
                bone_transform(Bone(bone), CoordinateVector(*map(float, place)), Quaternion(*map(float, turned)))
                for bone, (place, turned) in Avatar(arms | closed[0] | closed[1]).local.items()
            ]
            sender.send([Message(*one) for one in (*bones, clock(Timestamp(at)))])
            system.run()
            number += 1


if __name__ == "__main__":
    runpy.run_path(str(HERE.parent / "conftest.py"))
    if sys.argv[1] == "vmc":
        vmc(int(sys.argv[2]))
    else:
        from knuckle.cli import main

        sys.exit(main(sys.argv[1:]))
