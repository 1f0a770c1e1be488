"""Tables in the pages that scripts make: none is empty, and figures of accuracy are those that the scripts find now."""

import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BENCHMARKS = ROOT / "tools" / "benchmarks"
SECTION = re.compile(r"<!-- ([\w ]+) -->\n(.*?)<!-- /\1 -->", re.DOTALL)
NUMBER = re.compile(r"\d[\d,]*\.?\d*")
UNITS = 2.0
"""Of the last digit printed, by which a figure may differ: another machine's BLAS rounds otherwise."""


def sections(page: Path) -> dict[str, str]:
    return dict(SECTION.findall(page.read_text(encoding="utf-8")))


@pytest.mark.parametrize("page", [page for page in PAGES if sections(page)], ids=lambda page: page.name)
def test_no_table_that_a_script_makes_is_empty(page):
    assert [name for name, text in sections(page).items() if not text.strip()] == []


def differences(printed: str, found: str) -> list[str]:
    """Lines whose words are others, or whose numbers differ by more than UNITS of their last digit."""
    rows = list(zip(printed.split("\n"), found.split("\n"), strict=True))
    return [f"{old} -> {new}" for old, new in rows if not alike(old, new)]


def alike(old: str, new: str) -> bool:
    if NUMBER.sub("", old) != NUMBER.sub("", new):
        return False
    pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
    return all(abs(value(a) - value(b)) <= UNITS * 10.0 ** -len(a.partition(".")[2]) + 1e-9 for a, b in pairs)


def value(number: str) -> float:
    return float(number.replace(",", ""))


@pytest.mark.parametrize("name", ["precision", "skin", "left", "right"])
def test_the_tables_page_has_the_figures_that_its_script_finds(name, monkeypatch, request):
    if name in ("left", "right"):
        request.getfixturevalue("shared").file("data/captures/two_hands_glove.c3d")
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), str(ROOT / "tools"), *sys.path])
    found = import_module("papers_table").SECTIONS[name]()
    printed = sections(ROOT / "docs" / "explanation" / "table.md")[name]
    assert differences(printed.strip(), found.strip()) == []


def test_another_figure_word_or_row_is_a_difference():
    assert differences("| a | 10.6 / 0.50 |", "| a | 10.7 / 0.48 |") == []
    assert differences("| a | 10.6 |", "| a | 24.1 |") == ["| a | 10.6 | -> | a | 24.1 |"]
    assert differences("| a | 1 |", "| b | 1 |") == ["| a | 1 | -> | b | 1 |"]
    with pytest.raises(ValueError, match="zip"):
        differences("| a | 1 |", "| a | 1 |\n| b | 1 |")
