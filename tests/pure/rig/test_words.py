"""The table of words that bones are named with."""

import json
from pathlib import Path
from typing import Any

import pytest

from knuckle.errors import RigError
from knuckle.rig import mappings
from knuckle.rig.detection import name_hints
from knuckle.rig.mappings.family import read_words

TABLE = Path(mappings.__file__).parent / "words.json"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("mixamorig:LeftArm", "upper"),
        ("mixamorig:RightForeArm", "fore"),
        ("upper_arm.L", "upper"),
        ("upperarm_twist_01_l", "upper"),
        ("lowerarm01.R", "fore"),
        ("Right elbow", "fore"),
        ("Right arm", "upper"),
        ("LeftArmRoll", None),
        ("LeftShoulder", None),
        ("armature", None),
        ("", None),
    ],
)
def test_parts_of_arms_are_known_by_name(name: str, part: str | None) -> None:
    assert name_hints.arm_part(name) == part


def test_a_word_that_is_added_to_the_table_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    table["arms"]["upper"].append("bras$")
    (tmp_path / "words.json").write_text(json.dumps(table), encoding="utf-8")
    assert name_hints.arm_part("bras.G.gauche") is None
    monkeypatch.setattr(name_hints, "WORDS", read_words(tmp_path / "words.json"))
    assert name_hints.arm_part("Bras") == "upper"
    assert name_hints.arm_part("bras avant") is None


@pytest.mark.parametrize("arms", [None, [], {"fore": ["forearm"]}, {"fore": ["forearm"], "upper": []}])
def test_a_table_without_words_for_arms_is_reported(arms: Any, tmp_path: Path) -> None:
    table = json.loads(TABLE.read_text(encoding="utf-8")) | {"arms": arms}
    (tmp_path / "words.json").write_text(json.dumps(table), encoding="utf-8")
    with pytest.raises(RigError, match=r"words\.json: (arms is|\[\] is not a list of words)"):
        read_words(tmp_path / "words.json")
