"""Writes the table of docs/rigs.md: what is found in each rig that the tests know, and how its digits curl.

python tools/rigs_table.py
"""

from pathlib import Path

import bpy
import numpy as np

from knuckle.errors import RigError
from knuckle.rig.detect import FoundHand, find_hands
from knuckle.tests.blender.curling import curls
from knuckle.tests.blender.rigs import PLACES, RIGS, Truth, mirrored, placed, strange

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
HEAD = (
    "| Rig | Bones | Right | Least sure | x1 … xn | at 0.01 | mirrored | Nearer by | Aside |\n"
    "|---|---|---|---|---|---|---|---|---|\n"
)


def main() -> None:
    """Opens every rig and writes a row for each."""
    page = ROOT / "docs" / "rigs.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    rows = [row(name) for name in RIGS]
    page.write_text(before + BEGIN + HEAD + "".join(rows) + END + after, encoding="utf-8")
    print(f"{len(rows)} rigs, Blender {bpy.app.version_string}")


def row(name: str) -> str:
    """A rig's row."""
    armature, truth = opened(name)
    found = find_hands(armature)
    sure = min(sure for hand in found for sure in hand.confidence.values())
    bent = [curl for hand in found for curl in curls(armature, hand)]
    nearer = min(curl.nearer for curl in bent)
    aside = max(curl.aside for curl in bent if not curl.joint.startswith("thumb"))
    cells = [name, str(len(armature.data.bones)), right(found, truth), f"{sure:.2f}"]
    cells += [found_when_strange(name, place) for place in PLACES]
    return "| " + " | ".join([*cells, f"{nearer:.2f}", f"{aside:.0f}°"]) + " |\n"


def opened(name: str) -> tuple[bpy.types.Object, Truth]:
    """A rig alone in the file."""
    bpy.ops.wm.read_factory_settings(use_empty=True)
    return RIGS[name]()


def found_when_strange(name: str, place: str) -> str:
    """Digits that are right with other names, other rolls and the armature hung on a parent that stands so."""
    armature, truth = opened(name)
    truth = strange(armature, truth)
    placed(armature, place)
    try:
        return right(find_hands(armature), mirrored(truth) if place == "mirrored" else truth)
    except RigError:
        return "none"


def right(found: tuple[FoundHand, ...], truth: Truth) -> str:
    """How many digits, of how many, have every bone right on the right side."""
    bones = {hand.side: hand.bones for hand in found}
    hits = []
    for side, wanted in truth.items():
        for digit in ("thumb", "index", "middle", "ring", "pinky"):
            own = {joint: bone for joint, bone in wanted.items() if joint.startswith(digit)}
            hits.append(own == {j: bone for j, bone in bones.get(side, {}).items() if j.startswith(digit)})
    return f"{int(np.sum(hits))}/{len(hits)}"


if __name__ == "__main__":
    main()
