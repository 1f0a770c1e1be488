"""Every label and tooltip is written as Blender's own are: Title Case by Blender's usage, and no full stop."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import bpy
import pytest

from knuckle.operators.reports import sentence
from knuckle.registration import definitions

pytestmark = pytest.mark.usefixtures("extension")

ROOT = Path(__file__).parents[2]
LONGEST = 240
"""Letters of a tooltip: three lines as Blender wraps them."""
UNITS = {"m", "dm", "cm", "mm", "inch"}
BRITISH = re.compile(r"colour|centre|metre|grey|isation|\b(recogn|minim|optim|real|organ)is", re.I)
OF_THE_CODE = re.compile(r"\b(fcurve|bpy|rna|dof|json_|enum|kwarg|boolean|wxyz|nan)\b", re.I)
BASES = (bpy.types.Operator, bpy.types.PropertyGroup, bpy.types.AddonPreferences)


class Shown(NamedTuple):
    """What Blender shows of an operator, a property or a choice."""

    where: str
    label: str
    tooltip: str | None
    """None if Blender shows none."""


def own_properties(rna: Any, base: Any) -> Iterator[Shown]:
    """The properties that a class declares itself, with their choices."""
    inherited = {*base.bl_rna.properties.keys(), "align", "location", "rotation", "filepath", "check_existing"}
    for prop in rna.properties:
        if prop.identifier in inherited or prop.is_hidden:
            continue
        where = f"{rna.identifier}.{prop.identifier}"
        yield Shown(where, prop.name, prop.description)
        for item in prop.enum_items if prop.type == "ENUM" else ():
            yield Shown(f"{where} {item.identifier}", item.name, item.description or None)


def everything() -> list[Shown]:
    found: list[Shown] = []
    for cls in definitions("CLASSES"):
        base = next((base for base in BASES if issubclass(cls, base)), None)
        rna: Any = cls.bl_rna
        if base is bpy.types.Operator:
            category, _, name = cls.bl_idname.partition(".")
            rna = getattr(getattr(bpy.ops, category), name).get_rna_type()
            found.append(Shown(rna.identifier, rna.name, rna.description))
        elif getattr(cls, "bl_label", ""):
            found.append(Shown(cls.__name__, cls.bl_label, None))
        if base is not None and "INTERNAL" not in getattr(cls, "bl_options", ()):
            # Of those that buttons alone call, Blender shows no properties.
            found.extend(own_properties(rna, base))
    return found


@pytest.fixture(scope="module")
def small_words() -> set[str]:
    """The words that Blender itself writes small within labels, by how it writes them more often."""
    labels = {prop.name for kind in dir(bpy.types) for prop in rna_properties(kind)}
    for category in dir(bpy.ops):
        operators = getattr(bpy.ops, category)
        labels |= (
            {getattr(operators, name).get_rna_type().name for name in dir(operators)}
            if category != "knuckle"
            else set()
        )
    counted = Counter(word for label in labels for word in label.split()[1:-1] if word.isalpha())
    return {word for word in counted if word.islower() and counted[word] >= max(3, counted[word.capitalize()])}


def rna_properties(kind: str) -> list[Any]:
    rna = getattr(getattr(bpy.types, kind), "bl_rna", None)
    return [*rna.properties] if rna and not kind.lower().startswith("knuckle") else []


def test_labels_are_in_the_title_case_of_blender(small_words: set[str]) -> None:
    assert {"of", "to", "from", "with"} <= small_words
    wrong = []
    for shown in everything():
        words = shown.label.split()
        for number, word in enumerate(words):
            small = word.lower() in small_words and 0 < number < len(words) - 1
            if word[0].isalpha() and word not in UNITS and word[0].islower() != small:
                wrong.append(f"{shown.where}: {shown.label}")
        if not words or (shown.label.endswith((".", ":")) and not shown.label.endswith("...")):
            wrong.append(f"{shown.where}: {shown.label}")
    assert not wrong


def test_tooltips_are_short_sentences_without_a_full_stop_at_their_end() -> None:
    wrong = []
    for where, _, tooltip in everything():
        if tooltip is None:
            continue
        begins = bool(tooltip) and not tooltip[0].islower()
        if not begins or tooltip.endswith(".") or "  " in tooltip or "\n" in tooltip or len(tooltip) > LONGEST:
            wrong.append(f"{where}: {tooltip}")
    assert not wrong


def test_labels_and_tooltips_are_in_blenders_english() -> None:
    texts = [(shown.where, text) for shown in everything() for text in (shown.label, shown.tooltip or "")]
    assert len(texts) > 500
    assert not [(where, text) for where, text in texts if BRITISH.search(text) or OF_THE_CODE.search(text)]


def drawn_texts() -> Iterator[tuple[str, str]]:
    """What panels and operators write themselves: labels and paragraphs."""
    for path in [*(ROOT / "panels").glob("*.py"), *(ROOT / "operators").glob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            given = [*node.args[2:3]] if called == "paragraph" else []
            given += [*node.args] if called == "poll_message_set" else []
            given += [keyword.value for keyword in node.keywords if keyword.arg in ("text", "placeholder")]
            for value in given:
                for part in ast.walk(value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value:
                        yield f"{path.name}:{node.lineno}", part.value


def test_texts_in_panels_end_without_a_full_stop() -> None:
    texts = [*drawn_texts()]
    assert len(texts) > 100
    assert not [(where, text) for where, text in texts if text.endswith(".") or BRITISH.search(text)]


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("armature 'Rig' is hidden, show it first", "Armature 'Rig' is hidden, show it first"),
        ("the take has no marker 'a'", "The take has no marker 'a'"),
        ("take.c3d: no hand was found", "take.c3d: no hand was found"),
        ("my take.c3d: no hand was found", "my take.c3d: no hand was found"),
        ("recipe.json, performer: not a performer file", "recipe.json, performer: not a performer file"),
        ("gap_limit is nan", "gap_limit is nan"),
        ("'Rig' is gone", "'Rig' is gone"),
        ("", ""),
    ],
)
def test_reports_begin_as_blenders_do_unless_a_name_begins_them(message: str, shown: str) -> None:
    assert sentence(message) == shown


@pytest.mark.parametrize(
    ("message", "reported"),
    [
        ("the take 'hand.001' has no recipe: solve it", "The take 'hand.001' has no recipe: solve it"),
        ("armature 'Rig.001' plays nothing: solve first", "Armature 'Rig.001' plays nothing: solve first"),
        ("take.c3d: no frames found", "take.c3d: no frames found"),
        ("gap_limit is 7, expected 0 to 5", "gap_limit is 7, expected 0 to 5"),
    ],
)
def test_reports_begin_with_a_capital_but_for_names_of_files_and_settings(message: str, reported: str) -> None:
    assert sentence(message) == reported
