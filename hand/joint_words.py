"""Read the side and the joint of a hand from the words in a label, in the spellings of many rigs and devices."""

import re

from .joints import DIGIT_JOINTS, Side

SIDE_WORDS: dict[str, Side] = {
    "left": "left",
    "l": "left",
    "lft": "left",
    "right": "right",
    "r": "right",
    "rgt": "right",
}
DIGIT_WORDS = {
    **dict.fromkeys(("thumb", "thu", "pollex", "thb"), "thumb"),
    **dict.fromkeys(("index", "ind", "indx", "pointer"), "index-finger"),
    **dict.fromkeys(("middle", "mid", "long"), "middle-finger"),
    **dict.fromkeys(("ring", "rin", "rng"), "ring-finger"),
    **dict.fromkeys(("pinky", "little", "small", "pinkie", "lit", "pin"), "pinky-finger"),
}
_PART_WORDS = {
    **dict.fromkeys(("metacarpal", "meta", "carpal", "carp", "cmc", "inhand"), "metacarpal"),
    **dict.fromkeys(("proximal", "mcp", "knuckle", "base", "prox", "1", "01"), "phalanx-proximal"),
    **dict.fromkeys(("intermediate", "medial", "pip", "inter", "2", "02"), "phalanx-intermediate"),
    **dict.fromkeys(("distal", "dip", "dist", "ip", "3", "03"), "phalanx-distal"),
    **dict.fromkeys(("tip", "end", "nub", "btip", "4", "04", "3end", "03end"), "tip"),
}
_THUMB_WORDS = {
    **dict.fromkeys(("1", "01"), "metacarpal"),
    **dict.fromkeys(("2", "02", "mcp", "proximal", "prox", "intermediate", "medial", "inter"), "phalanx-proximal"),
}
"""Words that name another joint on a thumb than on a finger."""
_MIDDLE_WORDS = {"intermediate", "medial", "inter"}
WRIST_WORDS = ("wrist", "hand", "carpus")
_DIGIT_OF_ROW = ("thumb", "index", "middle", "ring", "pinky")


def split_label(label: str) -> list[str]:
    """Split a label into words: 'LeftHandIndex1_end' -> left, hand, index, 1, end. 'right:' counts as a word."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)", " ", label)
    words = [word for word in re.split(r"[^a-z0-9]+", spaced.lower()) if word]
    return [part for word in words for part in _split_side(word)]


def _split_side(word: str) -> tuple[str, ...]:
    """Split the side from a word such as rhand or lthumb."""
    has_side = word[0] in "lr" and (word[1:] in DIGIT_WORDS or word[1:] in WRIST_WORDS)
    return (word[0], word[1:]) if has_side else (word,)


def _name_numbered_digits(words: list[str]) -> list[str]:
    """Replace numbers of digits by names.

    MakeHuman's finger 2 1 -> index 1, Rokoko's finger 2 distal -> index distal, Biped's finger 11 -> index 2.
    """
    text = " ".join(words)
    text = re.sub(r"\bmetacarpal ([1-4])\b", lambda match: f"{_DIGIT_OF_ROW[int(match[1])]} metacarpal", text)
    text = re.sub(r"\bfinger ([1-5]) (\d)\b", lambda match: f"{_DIGIT_OF_ROW[int(match[1]) - 1]} {match[2]}", text)
    text = re.sub(
        r"\bfinger ([1-5]) (?=meta|prox|inter|medial|dist|tip)",
        lambda match: f"{_DIGIT_OF_ROW[int(match[1]) - 1]} ",
        text,
    )
    # Biped counts digits and bones from 0.
    return re.sub(
        r"\bfinger ([0-4])(\d?)\b", lambda match: f"{_DIGIT_OF_ROW[int(match[1])]} {int(match[2] or 0) + 1}", text
    ).split()


def side_in_label(label: str) -> Side | None:
    """Return the side in a label, if any."""
    return next((SIDE_WORDS[word] for word in split_label(label) if word in SIDE_WORDS), None)


def joint_in_label(label: str) -> tuple[Side | None, str] | None:
    """Return the side in a label, if any, and the joint that it names; None if it names no joint of a hand."""
    side = side_in_label(label)
    words = _name_numbered_digits(split_label(label.rpartition(":")[-1]))
    digit = next((DIGIT_WORDS[word] for word in words if word in DIGIT_WORDS), None)
    if digit is None:
        is_wrist = (
            any(word in WRIST_WORDS for word in words)
            and sum(word.isalpha() and word not in SIDE_WORDS for word in words) <= 2
        )
        return (side, "wrist") if is_wrist else None
    parts = [word for word in words if word in _PART_WORDS]
    if not parts:
        return None
    last = parts[-1]
    part = _THUMB_WORDS.get(last, _PART_WORDS[last]) if digit == "thumb" else _PART_WORDS[last]
    joint = f"{digit}-{part}"
    return (side, joint) if joint in DIGIT_JOINTS[digit] else None


def is_bare_thumb(label: str) -> bool:
    """Return whether a label only says "thumb", with or without a side, such as MakeHuman's rthumb in a BVH file."""
    words = split_label(label.rpartition(":")[-1])
    return {DIGIT_WORDS.get(word) for word in words if word not in SIDE_WORDS and word not in WRIST_WORDS} == {"thumb"}


def is_middle_of_thumb(label: str) -> bool:
    """Return whether a label names a thumb's middle joint, such as Unity's LeftThumbIntermediate.

    LeftThumbProximal is then the CMC.
    """
    words = set(_name_numbered_digits(split_label(label.rpartition(":")[-1])))
    return "thumb" in words and not words.isdisjoint(_MIDDLE_WORDS)
