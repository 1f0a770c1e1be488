"""Several senders to one port: one is followed, and another is reported."""

import socket

import pytest

from knuckle.capture.devices.sender_choice import HANDOVER_S, SenderChoice
from knuckle.capture.network.sender import OutgoingFrame
from knuckle.capture.network.transport import Address
from knuckle.capture.protocols.quest import QuestSender

from .moments import moments
from .sockets import listening, wait_for

PERFORMER, STRANGER = "127.0.0.1", "127.0.0.2"


def hear(senders: SenderChoice, sender: str, arrival: float) -> bool:
    """Whether a packet is read; it is understood."""
    accepted = senders.accepts(sender, arrival)
    if accepted:
        senders.note_packet(sender, arrival)
    return accepted


def test_the_first_is_followed_while_it_sends() -> None:
    senders = SenderChoice()
    assert all(hear(senders, "a", 0.5 * step) for step in range(10))
    assert not any(hear(senders, "b", 0.5 * step + 0.1) for step in range(10))
    assert (senders.followed, senders.ignored_sender, senders.ignored_packets) == ("a", "b", 10)


def test_another_takes_the_place_of_one_that_is_silent() -> None:
    senders = SenderChoice()
    hear(senders, "a", 0.0)
    assert not hear(senders, "b", HANDOVER_S)
    assert hear(senders, "b", HANDOVER_S + 0.01)
    assert not hear(senders, "a", HANDOVER_S + 0.02)
    assert senders.followed == "b"


def test_what_is_not_understood_takes_no_place() -> None:
    senders = SenderChoice()
    assert senders.accepts("noise", 0.0)
    assert hear(senders, "a", 0.1)
    assert not senders.accepts("noise", 0.2)


def test_who_was_chosen_is_followed_even_if_silent() -> None:
    senders = SenderChoice("a")
    assert not hear(senders, "b", 0.0)
    assert hear(senders, "a", 1.0)
    assert not hear(senders, "b", 1000.0)
    senders.follow("b")
    assert hear(senders, "b", 1001.0) and not hear(senders, "a", 1001.0)
    assert senders.ignored_sender == "a"


@pytest.fixture(scope="module")
def recorded() -> list[OutgoingFrame]:
    """Made before anything is sent: a sender that pauses to make its frames is silent, and loses its receiver."""
    return moments(160)


def datagrams(source: str, address: Address, frames: list[OutgoingFrame]) -> None:
    """Send frames of a headset at the IP address `source`."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((source, 0))
        for frame in frames:
            for packet in QuestSender(address).packets(frame):
                sock.sendto(packet, (PERFORMER, address.port))


def test_a_stranger_whose_count_is_ahead_does_not_displace_the_performer(
    address: Address, recorded: list[OutgoingFrame]
) -> None:
    """Its frames would make the performer's late."""
    with listening("quest", Address("0.0.0.0", address.port)) as receiver:
        for start in range(0, 60, 5):
            datagrams(PERFORMER, address, recorded[start : start + 5])
            datagrams(STRANGER, address, recorded[start + 100 : start + 105])
            sent = 4 * (start + 5)
            # The socket's buffer holds some dozens of datagrams only.
            wait_for(lambda: min(receiver.stats.packets, receiver.senders.ignored_packets) == sent)  # noqa: B023
        wait_for(lambda: receiver.stats.packets == 240 and receiver.senders.ignored_packets == 240)
        assert receiver.stats.late <= 1 and receiver.stats.frames >= 59, "a hand of the first frame may be late"
        assert receiver.senders.ignored_sender == STRANGER and PERFORMER in receiver.state()
        receiver.senders.follow(STRANGER)
        before = receiver.stats.frames
        datagrams(STRANGER, address, recorded[:10])
        wait_for(lambda: receiver.stats.packets == 280)
        assert receiver.stats.frames >= before + 9 and receiver.stats.late <= 2, "another device counts in its own way"


def test_only_the_chosen_sender_is_read(address: Address, recorded: list[OutgoingFrame]) -> None:
    with listening("quest", Address("0.0.0.0", address.port), sender=STRANGER) as receiver:
        datagrams(PERFORMER, address, recorded[:5])
        datagrams(STRANGER, address, recorded[:5])
        wait_for(lambda: receiver.stats.packets == 20 and receiver.senders.ignored_packets == 20)
