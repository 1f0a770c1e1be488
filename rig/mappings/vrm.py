"""VRM: the humanoid's own names (version 1 calls the thumb's first bone a metacarpal, 0 a proximal), and VRoid's."""

from .family import Family, both, hand_names

_FINGERS = ("Index", "Middle", "Ring", "Little")
_PARTS = ("Proximal", "Intermediate", "Distal")


def _humanoid(thumb: tuple[str, str, str]) -> dict[str, str]:
    return hand_names(
        "{side}Hand",
        [
            [f"{{side}}Thumb{part}" for part in thumb],
            *([None, *(f"{{side}}{finger}{part}" for part in _PARTS)] for finger in _FINGERS),
        ],
    )


FAMILIES = (
    Family("VRM 1", both("left", "right"), _humanoid(("Metacarpal", "Proximal", "Distal"))),
    Family("VRM 0", both("left", "right"), _humanoid(_PARTS)),
    Family(
        "VRoid",
        both("L", "R"),
        hand_names(
            "J_Bip_{side}_Hand",
            [
                [f"J_Bip_{{side}}_Thumb{bone}" for bone in (1, 2, 3)],
                *([None, *(f"J_Bip_{{side}}_{finger}{bone}" for bone in (1, 2, 3))] for finger in _FINGERS),
            ],
        ),
    ),
)
