"""A person's own mapping as data: checked, written, read."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knuckle.errors import RigError
from knuckle.hand.joints import DIGITS, JOINTS, SIDES, Side
from knuckle.rig.mapping import Mapping, check_whole, from_dict, read_preset, to_dict, with_bone, write_preset

GOOD: dict[str, Any] = {"version": 1, "side": "left", "bones": {"wrist": "hand", "thumb-metacarpal": "t1"}}


NAMES = st.text(st.characters(codec="utf-8", min_codepoint=32), min_size=1, max_size=63)


@given(
    side=st.sampled_from(SIDES),
    bones=st.dictionaries(
        st.sampled_from(JOINTS[1:]),
        NAMES,
        min_size=1,
    ),
    curl_angles=st.dictionaries(st.sampled_from(DIGITS), st.floats(-180, 180)),
)
@settings(max_examples=30)
def test_what_is_written_is_read_again(side: Side, bones: dict[str, str], curl_angles: dict[str, float]) -> None:
    unique = {joint: f"{name} {joint}" for joint, name in bones.items()} | {"wrist": "w"}
    mapping = Mapping(side, unique, "carrier", curl_angles=curl_angles)
    again = from_dict(json.loads(json.dumps(to_dict(mapping))), "preset")
    assert again == mapping


def test_a_preset_is_read_as_it_was_written(tmp_path: Path) -> None:
    mapping = Mapping("right", {"wrist": "手首.R", "index-finger-phalanx-proximal": "人指1.R"})
    write_preset(tmp_path / "own.json", mapping)
    assert read_preset(tmp_path / "own.json") == mapping


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"version": 3}, "its version is 3, expected 1 or 2"),
        ({"side": "up"}, "its side is 'up', expected 'left' or 'right'"),
        ({"side": ["left"]}, "its side is"),
        ({"bones": []}, "bones is "),
        ({"bones": {"wrist": "hand", "thumb": "t"}}, "there is no joint 'thumb'"),
        ({"bones": {"wrist": "hand", "thumb-tip": "hand"}}, "bone 'hand' is both wrist and thumb-tip"),
        ({"bones": {"wrist": "hand", "thumb-tip": 3}}, "the bone of thumb-tip is 3"),
        ({"bones": {"wrist": "hand", "thumb-tip": "x" * 999}}, "the bone of thumb-tip is 'xxx"),
        ({"bones": {"wrist": "hand"}}, "it has 1 bones, expected a wrist and at least one digit"),
        ({"bones": {"thumb-tip": "tip"}}, "expected a wrist"),
        ({"bones": {str(k): "b" for k in range(99)}}, "expected at most 25 joints"),
        ({"carrier": 7}, "its carrier is 7"),
        ({"turns": [180]}, "turns is [180], expected digits with their degrees"),
        ({"turns": {"toe": 180}}, "the turn of 'toe' is 180"),
        ({"turns": {"thumb": 181}}, "the turn of 'thumb' is 181, expected a digit"),
        ({"turns": {"thumb": True}}, "the turn of 'thumb' is True"),
        ({"turns": {"thumb": float("nan")}}, "the turn of 'thumb' is nan"),
    ],
)
def test_a_bad_preset_is_reported_in_one_sentence(change: dict[str, Any], reported: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(GOOD | change))
    with pytest.raises(RigError) as error:
        read_preset(path)
    assert reported in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        (b"{", "not JSON"),
        (b"[1, 2]", "it is a list"),
        (b"\xff", "not a text"),
        (b" " * 70_000, "larger"),
    ],
)
def test_a_file_that_is_no_preset_is_reported(content: bytes, reported: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(RigError, match=reported):
        read_preset(tmp_path / "bad.json")
    with pytest.raises(RigError, match="cannot be read"):
        read_preset(tmp_path / "none.json")


def test_a_bone_that_is_picked_for_another_joint_leaves_its_own() -> None:
    mapping = from_dict(GOOD, "own")
    moved = with_bone(mapping, "thumb-phalanx-proximal", "t1")
    assert moved.bones == {"wrist": "hand", "thumb-phalanx-proximal": "t1"}
    assert with_bone(with_bone(moved, "thumb-tip", "t2"), "thumb-tip", None) == moved
    start = with_bone(mapping, "wrist", None)
    with pytest.raises(RigError, match="it has 1 bones, expected a wrist and at least one digit"):
        check_whole(start)
    with pytest.raises(RigError, match="no joint 'thumb'"):
        with_bone(mapping, "thumb", "t9")
