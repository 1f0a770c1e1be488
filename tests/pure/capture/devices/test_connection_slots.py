"""Connection slots of a listener's clients: who is let in, and who is disconnected for another."""

import pytest

from knuckle.capture.network.connection_slots import IDLE_S, MAX_CLIENTS, ConnectionSlots


class Clock:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("knuckle.capture.network.connection_slots.time.monotonic", clock)
    return clock


def full(senders: list[str]) -> ConnectionSlots[int]:
    """Slots that are taken by clients 0, 1, … of these senders."""
    taken = ConnectionSlots[int]()
    assert all(taken.admit(client, sender) is None for client, sender in enumerate(senders))
    return taken


MACHINES = [f"192.168.1.{number}" for number in range(MAX_CLIENTS)]
"""A machine for each slot."""


def test_clients_that_send_useful_packets_keep_their_slots(clock: Clock) -> None:
    taken = full(MACHINES)
    for _ in range(10):
        clock.now += IDLE_S
        for client in range(MAX_CLIENTS):
            taken.keep(client)
        assert taken.admit(99, "192.168.1.99") == 99


def test_the_client_without_a_useful_packet_for_longest_loses_its_slot(clock: Clock) -> None:
    taken = full(MACHINES)
    clock.now += 1.5 * IDLE_S
    taken.keep(0)
    taken.keep(2)
    newcomers = range(100, 100 + MAX_CLIENTS - 2)
    assert [taken.admit(one, str(one)) for one in newcomers] == [1, 3, 4, 5, 6, 7]
    assert taken.admit(200, "another") == 200, "all have just connected or sent a useful packet"


def test_a_machine_with_several_slots_loses_one_to_a_machine_that_has_none(clock: Clock) -> None:
    taken = full(["performer", *["stranger"] * (MAX_CLIENTS - 1)])
    for client in range(MAX_CLIENTS):
        taken.keep(client)
    assert taken.admit(100, "other performer") == 1
    assert taken.admit(101, "stranger") == 101, "it takes no slot from a machine that has fewer"
    assert taken.admit(102, "third performer") == 2


def test_a_client_that_left_frees_its_slot(clock: Clock) -> None:
    taken = full(MACHINES)
    taken.release(3)
    taken.release(3)
    assert taken.admit(100, "performer") is None
    assert taken.admit(101, "another") == 101
