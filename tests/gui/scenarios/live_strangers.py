"""While a headset is followed, another one sends to the same port: the panel names it, and a click follows it."""

import socket
import threading
from itertools import count
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from knuckle.tests.gui.driver import Screen, Steps

PACKAGE = "bl_ext.user_default.knuckle"
PERFORMER, STRANGER = "127.0.0.1", "127.0.0.2"
LANDMARKS = ", ".join(f"{0.03 * (number % 5):.2f}, 0, {0.02 * (number % 4):.2f}" for number in range(21))


def play(screen: "Screen") -> "Steps":
    yield from screen.empty_scene_with_panel("KNUCKLE_PT_live")
    yield from screen.widen_sidebar(110)
    chosen = screen.scene.knuckle_live
    chosen.device = "webxr"
    yield 0.5
    screen.picture("live_page_names")
    bpy.context.preferences.system.use_online_access = True
    chosen.device, chosen.host, chosen.port = "quest", "0.0.0.0", free_port()
    start = yield from screen.button("knuckle.live_start")
    screen.click(*start)
    yield 1.0
    silent = threading.Event()
    senders = threading.Thread(target=keep_sending, args=(chosen.port, silent), daemon=True)
    senders.start()
    yield 2.0
    live = __import__(f"{PACKAGE}.operators.session", fromlist=["SESSION"]).SESSION.live
    choice = live.run.receiver.senders
    before = choice.followed
    screen.picture("live_strangers")
    for _ in range(3):  # a row that appears at the last moment moves the button away
        follow = yield from screen.button("knuckle.live_follow_sender")
        screen.click(*follow)
        yield 2.0
        if choice.followed != before:
            break
    screen.picture("live_followed")
    seen = {"followed_first": before, "followed": choice.followed, "other": choice.other}
    silent.set()
    senders.join()
    stop = yield from screen.button("knuckle.live_stop", across=0.25)
    screen.click(*stop)
    yield 1.0
    seen["still_running"] = live.run is not None
    return seen


def free_port() -> int:
    """A port that nobody listens at: another window may have the device's own."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("", 0))
        port: int = sock.getsockname()[1]
        return port


def keep_sending(port: int, silent: threading.Event) -> None:
    """Both senders, until they shall be silent: in a silence the panel's rows would move from under the mouse."""
    for number in count():
        send(PERFORMER, port, number)
        send(STRANGER, port, number + 100)
        if silent.wait(0.03):
            return


def send(sender: str, port: int, number: int) -> None:
    """A frame of a left hand, from an address of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((sender, 0))
        meta = f"| f={number} | t={number * 16_666_667}:"
        lines = f"Left wrist {meta}, 0, 1, 0, 0, 0, 0, 1\nLeft landmarks {meta}, {LANDMARKS}\n"
        sock.sendto(lines.encode(), ("127.0.0.1", port))
