"""Blender's preference Allow Online Access: without it, devices are followed on this computer only."""

import ipaddress
from typing import Any

import bpy

from ..capture.network.transport import Address
from ..errors import StreamError

HERE = "only programs on this computer are followed"
ALLOW = "Allow Online Access in Preferences > System > Network"


def is_on_this_computer(host: str) -> bool:
    """Return whether an address can be reached from this computer only.

    A name other than localhost may be any computer's.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.rstrip(".").lower() == "localhost"


def limits() -> str:
    """Tell the user what is not allowed and how to allow it; empty if online access is allowed."""
    app: Any = bpy.app
    if app.online_access:
        return ""
    # Renamed in Blender 5.
    if getattr(app, "online_access_override", False) or getattr(app, "online_access_overriden", False):
        return f"Blender was started offline: {HERE}; start it without --offline-mode for others"
    return f"online access is off: {HERE}; for others, switch on {ALLOW}"


def check_online_access(address: Address) -> None:
    """Raise StreamError for an address beyond this computer if Blender's preferences do not allow online access."""
    if (problem := limits()) and not is_on_this_computer(address.host):
        raise StreamError(f"{address.host} is beyond this computer, and {problem}, or use 127.0.0.1")
