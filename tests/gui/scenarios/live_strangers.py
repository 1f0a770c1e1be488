"""A headset is followed by its network: without online access on this computer only; with it another one sends to the
same port, is named by the panel and followed by a click; its take goes into the folder that the panel names.
"""

import importlib
import socket
import sys
import threading
from collections.abc import Generator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import walking
    from knuckle.tests.gui.driver import Screen, Steps
else:
    walking = importlib.import_module("walking")

PACKAGE = "bl_ext.user_default.knuckle"
PERFORMER, STRANGER = "127.0.0.1", "127.0.0.2"
EVERYWHERE = "0.0.0.0"
LANDMARKS = ", ".join(f"{0.03 * (number % 5):.2f}, 0, {0.02 * (number % 4):.2f}" for number in range(21))


def play(screen: "Screen") -> "Steps":
    yield from screen.empty_scene_with_panel("KNUCKLE_PT_live")
    yield from screen.widen_sidebar(110)
    chosen = screen.scene.knuckle_live
    chosen.device = "webxr"
    yield 0.5
    screen.picture("live_page_names")
    chosen.device, chosen.host, chosen.port = "quest", EVERYWHERE, free_port()
    walk = walking.Walk(screen, "live_strangers", 1)
    offline = yield from without_access(screen, walk)
    bpy.context.preferences.system.use_online_access = True
    chosen.host, chosen.port = EVERYWHERE, free_port()
    start = yield from screen.button("knuckle.live_start")
    screen.click(*start)
    yield 1.0
    listens = listened_at(chosen.port)
    silent = threading.Event()
    senders = threading.Thread(target=keep_sending, args=(chosen.port, silent), daemon=True)
    senders.start()
    yield 2.0
    live = session()
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
    seen: dict[str, Any] = {"followed_first": before, "followed": choice.followed, "other": choice.ignored_sender}
    seen |= {"offline": offline, "listens": listens, "recorded": (yield from recorded(screen, walk))}
    silent.set()
    senders.join()
    stop = yield from screen.button("knuckle.live_stop", across=0.25)
    screen.click(*stop)
    yield 1.0
    seen["still_running"] = live.run is not None
    return seen


def without_access(screen: "Screen", walk: "walking.Walk") -> "Steps":
    """Start at all addresses of this computer, which is refused; then at the one that no other computer reaches."""
    found: dict[str, Any] = {"access": bpy.app.online_access}
    start = yield from screen.button("knuckle.live_start")
    screen.click(*start)
    yield 1.0
    screen.picture("live_online_access_refused")
    found["refused"] = session().run is None
    screen.key("Escape")  # closes the message
    yield 0.5
    yield from walk.typed(EVERYWHERE, (PERFORMER,))
    start = yield from screen.button("knuckle.live_start")
    screen.click(*start)
    yield from screen.wait_until(lambda: session().run is not None)
    yield 1.0
    yield from walk.look("Online access is off")
    screen.picture("live_online_access_off")
    found["listens"] = listened_at(screen.scene.knuckle_live.port)
    stop = yield from screen.button("knuckle.live_stop", across=0.25)
    screen.click(*stop)
    yield from screen.wait_until(lambda: session().run is None)
    found["reported"] = [line for line in (yield from screen.reports()) if "Online Access" in line]
    return found


def recorded(screen: "Screen", walk: "walking.Walk") -> Generator[float, None, list[str]]:
    """Record a second in a file that is not saved; the files in the folder that the panel names."""
    folder = Path.home() / "Knuckle Takes"
    for _ in range(2):
        record = yield from screen.button("knuckle.live_record", across=0.75)
        screen.click(*record)
        yield 1.0
    yield from screen.wait_until(lambda: len(screen.scene.knuckle_live.takes) == 1 and not walking.running())
    yield from walking.scrolled(screen, 30)
    screen.picture("live_folder")
    yield from walk.look(f"Raw takes: {folder}")
    yield from walking.scrolled(screen, -60)
    return sorted(path.name for path in folder.iterdir())


def session() -> Any:
    """What is followed live."""
    return __import__(f"{PACKAGE}.operators.session", fromlist=["SESSION"]).SESSION.live


def listened_at(port: int) -> list[str]:
    """The addresses of this computer at which packets to a port are received, as the system lists them."""
    rows = [row.split()[1].split(":") for row in Path("/proc/net/udp").read_text().splitlines()[1:]]
    return [socket.inet_ntoa(bytes.fromhex(address)[::-1]) for address, listed in rows if int(listed, 16) == port]


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
