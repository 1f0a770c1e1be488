"""What tests on real sockets share: ports that are free, receivers that are ended, and waits that end."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from knuckle.capture.devices.device_table import DEVICES
from knuckle.capture.devices.receiver import Receiver
from knuckle.capture.network.transport import LOCAL, Address


def free_address() -> Address:
    """A port that nobody has, for datagrams and for connections."""
    while True:
        with (
            socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connections,
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        ):
            connections.bind((LOCAL, 0))
            address = Address(LOCAL, connections.getsockname()[1])
            try:
                datagrams.bind((address.host, address.port))
            except OSError:
                continue
            return address


def wait_for(what: Callable[[], object], seconds: float = 20.0) -> None:
    """Until it happens; fails where it does not."""
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"it did not happen in {seconds:g} s"
        time.sleep(0.005)


@contextmanager
def following(device: str, address: Address, pre_roll: float = 0.0, sender: str = "") -> Iterator[Receiver]:
    """A receiver that is begun, and ended whatever happens."""
    receiver = Receiver(device, DEVICES[device], address, pre_roll, sender)
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.stop()


@contextmanager
def listening(device: str, address: Address, pre_roll: float = 0.0, sender: str = "") -> Iterator[Receiver]:
    """The same, of a device that is listened to, once its port is open."""
    with following(device, address, pre_roll, sender) as receiver:
        wait_for(lambda: receiver.is_open)
        yield receiver
