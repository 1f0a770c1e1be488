"""The Unreal mannequin's names, also MakeHuman's game engine skeleton; the newer mannequin has metacarpals."""

from .family import Family, both, hand_names

_FINGERS = ("index", "middle", "ring", "pinky")

FAMILIES = (
    Family(
        "Unreal",
        both("l", "r"),
        hand_names(
            "hand_{side}",
            [
                [f"thumb_0{bone}_{{side}}" for bone in (1, 2, 3)],
                *(
                    [f"{finger}_metacarpal_{{side}}", *(f"{finger}_0{bone}_{{side}}" for bone in (1, 2, 3))]
                    for finger in _FINGERS
                ),
            ],
        ),
    ),
)
