"""Where the nineteen markers of Han et al. 2018 are worn, and smaller sets of them."""

from dataclasses import dataclass

from knuckle.hand.joints import CHAIN_JOINTS, DIGITS


@dataclass(frozen=True, slots=True)
class Paint:
    """Position of a marker: how far along a bone, from its back, and how far around it."""

    label: str
    joint: str
    along: float
    around: float = 0.0
    """Degrees around the bone, from its back towards +X."""


def _paints() -> tuple[Paint, ...]:
    """Nineteen, worn as those of Han et al. 2018: labels name the bone that follows the joint they are called by."""
    words = dict(zip(DIGITS, ("Thumb", "Index", "Middle", "Ring", "Pinky"), strict=True))
    result = [
        Paint("ThumbCMC", "thumb-metacarpal", 0.55),
        Paint("ThumbMCP", "thumb-phalanx-proximal", 0.55),
        Paint("ThumbIP", "thumb-phalanx-distal", 0.15),
        Paint("ThumbTip", "thumb-phalanx-distal", 0.75),
    ]
    for digit in DIGITS[1:]:
        mcp, pip, dip, _ = CHAIN_JOINTS[digit]
        result += [
            Paint(f"{words[digit]}MCP", mcp, 0.68),
            Paint(f"{words[digit]}PIP", pip, 0.6),
            Paint(f"{words[digit]}Tip", dip, 0.7),
        ]
    return (
        *result,
        Paint("BackHand1", "index-finger-metacarpal", 0.75),
        Paint("BackHand2", "pinky-finger-metacarpal", 0.7),
        Paint("BackHand3", "middle-finger-metacarpal", 0.3),
    )


PAINTS = _paints()
_BACK = ("BackHand1", "BackHand2", "BackHand3")
_ENDS = tuple(f"{word}Tip" for word in ("Thumb", "Index", "Middle", "Ring", "Pinky"))
SETS = {
    19: tuple(paint.label for paint in PAINTS),
    13: (*_BACK, *_ENDS, "ThumbIP", *(f"{word}PIP" for word in ("Index", "Middle", "Ring", "Pinky"))),
    9: (*_BACK, *_ENDS, "ThumbIP"),
}
