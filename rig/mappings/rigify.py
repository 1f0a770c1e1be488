"""Rigify's metarigs."""

from .family import Family, both, hand_names

_FINGERS = ("index", "middle", "ring", "pinky")

FAMILIES = (
    Family(
        "Rigify metarig",
        both("L", "R"),
        hand_names(
            "hand.{side}",
            [
                [f"thumb.0{bone}.{{side}}" for bone in (1, 2, 3)],
                *(
                    [f"palm.0{palm}.{{side}}", *(f"f_{finger}.0{bone}.{{side}}" for bone in (1, 2, 3))]
                    for palm, finger in enumerate(_FINGERS, 1)
                ),
            ],
        ),
    ),
)
