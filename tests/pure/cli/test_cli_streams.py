"""Devices in the shell: what is reported about a take that holds nothing, and who is waited for."""

from pathlib import Path

import pytest

from knuckle.capture.devices.device_table import DEVICES
from knuckle.cli.main import main

from ..capture.devices.moments import moments
from ..capture.devices.sockets import following, free_address, wait_for


def listen(*arguments: str) -> int:
    return main(["listen", "vmc", "--port", str(free_address().port), "--seconds", "0.2", *arguments])


def test_a_take_of_nothing_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert listen() == 0
    assert listen("--record", str(tmp_path / "take.rawtake")) == 1
    assert "nothing was recorded: listening on UDP" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (["--record", "nowhere/take.rawtake"], "there is no folder nowhere"),
        (["--record", "take.csv"], "expected a name that ends in .rawtake"),
        (["--seconds", "-3"], "--seconds is -3, expected more than 0"),
        (["--seconds", "nan"], "--seconds is nan, expected more than 0"),
        (["--sender", "headset"], "'headset' is not an IP address"),
        (["--page-name", "hands.example.net"], "opens no page"),
    ],
)
def test_what_cannot_be_listened_to_is_reported(arguments, reported, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert listen(*arguments) == 1
    assert reported in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_take_never_replaces_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "take.rawtake"
    path.write_bytes(b"the only recording")
    assert listen("--record", str(path)) == 1
    assert "File exists" in capsys.readouterr().err
    assert path.read_bytes() == b"the only recording"


def test_a_sender_cannot_be_chosen_where_knuckle_connects(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing would be followed, and the advice would be about the network."""
    assert main(["listen", "natnet", "--seconds", "0.2", "--sender", "127.0.0.1"]) == 1
    assert "expected no --sender" in capsys.readouterr().err


@pytest.mark.parametrize("device", ["natnet", "qualisys", "leap"])
def test_a_sender_that_is_connected_to_waits_for_somebody(device: str) -> None:
    address = free_address()
    with DEVICES[device].sender(address) as sender:
        assert sender.has_no_client
        with following(device, address):
            wait_for(lambda: not sender.has_no_client)
            sender.send(moments(1)[0])
