"""A port of this machine for each test that asks for one."""

import pytest

from knuckle.capture.network.transport import Address
from knuckle.tests.pure.capture.devices.sockets import free_address


@pytest.fixture
def address() -> Address:
    return free_address()
