"""A rig follows, in a real Blender, an actor whose packets are packed as Studio does; test_live.py has VMC's."""

import json
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from knuckle.tests.blender.rigs import SHARED
from knuckle.tests.blender.test_live_avatars import Send, along, moment, studio
from knuckle.tests.gui.conftest import OUT
from knuckle.tests.pure.streams.avatar import PARTS
from knuckle.tests.pure.streams.sockets import free_address

RATE = 30.0
SWING = 3.0
"""s in which hands close."""
RIG = {
    f"finger{digit}-{part}.{side[0]}": (side, digit, part)
    for side in ("Left", "Right")
    for digit in (2, 3)
    for part in (1, 2)
}
DIGITS = {2: "Index", 3: "Middle"}


def test_a_rig_in_a_window_moves_as_an_actor_of_studios(play: Callable[[str], dict[str, Any]], shared: Path) -> None:
    (OUT / "rigs").mkdir(parents=True, exist_ok=True)
    (OUT / "rigs" / "makehuman.blend").unlink(missing_ok=True)
    shutil.copy(SHARED / "makehuman_default.blend", OUT / "rigs" / "makehuman.blend")
    for sign in ("seen", "closed"):
        (OUT / f"live_avatar_{sign}").unlink(missing_ok=True)
    port = free_address().port
    asked = {"device": "rokoko", "port": port, "bones": list(RIG)}
    (OUT / "live_avatar_asked.json").write_text(json.dumps(asked), encoding="utf-8")
    ended = threading.Event()
    with studio(port) as send:
        thread = threading.Thread(target=perform, args=(send, ended))
        thread.start()
        try:
            seen = play("live_avatar")
        finally:
            ended.set()
            thread.join()
    counts = seen["counts"]
    assert counts["frames"] > 100 and not any(counts[what] for what in ("malformed", "late", "lost")), counts
    wanted = along(moment(1.0), [f"{side}{DIGITS[digit]}{PARTS[part - 1]}" for side, digit, part in RIG.values()])
    apart = np.degrees(np.arccos(np.clip((np.array(list(seen["bones"].values())) * wanted).sum(axis=1), -1, 1)))
    assert apart.max() < 2.0, dict(zip(RIG, apart, strict=True))
    assert seen["put back"]


def perform(send: Send, ended: threading.Event) -> None:
    """Hands open and close until they are seen in Blender; then they close and stay."""
    number, share, step = 0, 0.0, 1 / (SWING * RATE)
    begun = time.monotonic()
    while not ended.is_set():
        seen = (OUT / "live_avatar_seen").exists()
        step = abs(step) if seen or share <= 0 else -abs(step) if share >= 1 else step
        share = min(max(share + step, 0.0), 1.0)
        send(moment(share), number / RATE)
        number += 1
        if seen and share == 1.0:
            (OUT / "live_avatar_closed").touch()
        time.sleep(max(begun + number / RATE - time.monotonic(), 0.0))
