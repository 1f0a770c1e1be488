"""Mixamo's names, without their namespace (`mixamorig:`); the fourth bone of a digit is its tip."""

from .family import Family, both, hand_names

FAMILIES = (
    Family(
        "Mixamo",
        both("Left", "Right"),
        hand_names(
            "{side}Hand",
            [
                [f"{{side}}HandThumb{bone}" for bone in (1, 2, 3, 4)],
                *(
                    [None, *(f"{{side}}Hand{finger}{bone}" for bone in (1, 2, 3, 4))]
                    for finger in ("Index", "Middle", "Ring", "Pinky")
                ),
            ],
        ),
    ),
)
