"""MakeHuman's default skeleton and MPFB's: finger1 is the thumb, metacarpal1 the index finger's."""

from .family import Family, both, hand_names

FAMILIES = (
    Family(
        "MakeHuman",
        both("L", "R"),
        hand_names(
            "wrist.{side}",
            [
                [f"finger1-{bone}.{{side}}" for bone in (1, 2, 3)],
                *(
                    [f"metacarpal{digit - 1}.{{side}}", *(f"finger{digit}-{bone}.{{side}}" for bone in (1, 2, 3))]
                    for digit in (2, 3, 4, 5)
                ),
            ],
        ),
    ),
)
