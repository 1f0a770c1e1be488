"""Blender's preference Allow Online Access: without it, devices are followed on this computer only."""

from collections.abc import Iterator
from typing import Any

import bpy
import pytest

from knuckle.capture.network.transport import Address
from knuckle.operators.online_access import check_online_access, is_on_this_computer, limits
from knuckle.operators.session import SESSION
from knuckle.registration import _command

pytestmark = pytest.mark.usefixtures("extension")

HERE = ["127.0.0.1", "127.1.2.3", "localhost", "LOCALHOST."]
BEYOND = ["0.0.0.0", "192.168.1.5", "8.8.8.8", "239.255.42.99", "255.255.255.255", "motive.local", "localhost.evil.org"]


@pytest.fixture
def access() -> Iterator[Any]:
    """Blender's preferences, whose access is put back."""
    system = bpy.context.preferences.system
    before = system.use_online_access
    yield system
    system.use_online_access = before


@pytest.fixture(params=[False, True], ids=["refused", "allowed"])
def allowed(request: pytest.FixtureRequest, access: Any) -> bool:
    access.use_online_access = request.param
    assert bpy.app.online_access == request.param
    return bool(request.param)


@pytest.mark.parametrize("host", HERE)
def test_this_computer_is_always_allowed(host: str, allowed: bool) -> None:
    assert is_on_this_computer(host)
    check_online_access(Address(host))


@pytest.mark.parametrize("host", BEYOND)
def test_what_is_beyond_this_computer_needs_the_preference(host: str, allowed: bool) -> None:
    assert not is_on_this_computer(host)
    if allowed:
        check_online_access(Address(host))
    else:
        with pytest.raises(Exception, match=f"^{host} is beyond this computer, and .*Allow Online Access.*127"):
            check_online_access(Address(host))


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_start_says_which_preference_it_needs(host: str, allowed: bool) -> None:
    live = bpy.context.scene.knuckle_live
    live.device, live.host, live.port = "xsens", host, 39799
    if allowed or host == "127.0.0.1":
        assert bpy.ops.knuckle.live_start() == {"FINISHED"}
        bpy.ops.knuckle.live_stop()
    else:
        with pytest.raises(RuntimeError, match="Allow Online Access in Preferences > System > Network"):
            bpy.ops.knuckle.live_start()
    assert SESSION.live.run is None


def test_the_panel_says_that_access_is_off(allowed: bool) -> None:
    assert (limits() == "") == allowed


def test_an_offline_blender_says_how_it_was_started(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from knuckle.operators import online_access

    offline = SimpleNamespace(app=SimpleNamespace(online_access=False, online_access_overriden=True))
    monkeypatch.setattr(online_access, "bpy", offline)
    with pytest.raises(Exception, match="without --offline-mode"):
        check_online_access(Address("0.0.0.0"))


def test_blenders_command_asks_for_it_too(allowed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    status = _command(["listen", "xsens", "--host", "0.0.0.0", "--port", "39798", "--seconds", "0.1"])
    reported = capsys.readouterr().err
    assert (status == 0) == allowed
    assert ("Allow Online Access" in reported) != allowed
