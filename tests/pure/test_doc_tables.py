"""Tables in the pages that scripts make: none is empty, and figures of accuracy are those that the scripts find now.

Of long tables the rows are recomputed that take seconds. Times depend on the machine and are not compared.
"""

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from knuckle.hand.rotations import from_matrix, multiply
from knuckle.tools.doc_sections import sections_of

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
BENCHMARKS = ROOT / "tools" / "benchmarks"
NUMBER = re.compile(r"\d[\d,]*\.?\d*")
UNITS = 2.0
"""Of the last digit printed, by which a figure may differ: another machine's BLAS rounds otherwise."""


@pytest.mark.parametrize("page", [page for page in PAGES if sections_of(page)], ids=lambda page: page.name)
def test_no_table_that_a_script_makes_is_empty(page):
    assert [name for name, text in sections_of(page).items() if not text.strip()] == []


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


@pytest.fixture
def script(monkeypatch):
    """What imports a script of the benchmarks by its name."""
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), str(ROOT / "tools"), *sys.path])
    # A folder of tests has the name of one of them.
    monkeypatch.delitem(sys.modules, "posing", raising=False)
    return import_module


def check(page: str, section: str, rows: Iterable[Iterable[str | None]]) -> None:
    """Holds the rows of a page that begin with the same words to these; None is a time, which is not compared."""
    lines = sections_of(ROOT / "docs" / page)[section].splitlines()
    printed = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines]
    for row in rows:
        cells = list(row)
        names = [cell for cell in cells[:2] if cell and not NUMBER.search(cell)] or cells[:1]
        matches = [line for line in printed if line[: len(names)] == names and len(line) == len(cells)]
        assert matches, f"{page}: no row {names}"
        old, new = ([cell for cell, found in zip(line, cells, strict=True) if found] for line in (matches[0], cells))
        assert differences(" | ".join(filter(None, old)), " | ".join(filter(None, new))) == []


@pytest.mark.parametrize("name", ["precision", "skin", "left", "right"])
def test_the_tables_page_has_the_figures_that_its_script_finds(name, script, request):
    if name in ("left", "right"):
        request.getfixturevalue("glove")
    found = script("papers_table").SECTIONS[name]()
    printed = sections_of(ROOT / "docs" / "explanation" / "table.md")[name]
    assert differences(printed.strip(), found.strip()) == []


@pytest.mark.parametrize("solver", ["fabrik", "table", "dynamical"])
@pytest.mark.parametrize("name", ["Leap", "camera landmarks", "optical glove, all joints"])
def test_errors_on_recordings_are_those_of_the_accuracy_page(name, solver, script, shared):
    takes = script("takes")
    capture = shared / "data/captures" / takes.TAKES[name]
    rows = list(takes.rows_of(name, solver, capture))
    check("reference/accuracy.md", "takes", [[*row[:-1], None] for row in rows])


@pytest.mark.parametrize("file", ["two_hands_glove.c3d", "mediapipe_video.json", "leap_finger_tap.json"])
def test_what_labelling_finds_with_fewer_markers_is_on_its_page(file, script, shared):
    labelling = script("labelling")
    check("explanation/labelling.md", "stripped", [labelling.stripped_row(file, shared / "data/captures" / file)])


def test_what_labelling_finds_in_a_spoiled_take_is_on_its_page(script, shared):
    file = "leap_finger_tap.json"
    row = script("labelling").spoiled_row(file, shared / "data/captures" / file)
    check("explanation/labelling.md", "spoiled", [row])


@pytest.fixture(scope="module")
def problems(standard):
    """Problems A, B and C2 of the standard hand, as its own script makes them."""
    q = standard.motion(1000, 0.01, np.random.default_rng(20240601))
    points, rotations = standard.hand.fk(q)
    exact = {"q_true": q, "points_true": points, "tip_target": points[:, :, 3], "dt": 0.01, "kind": "tips"}
    noise = np.random.default_rng(2).normal(0, 1.0, points[:, :, 3].shape)
    vector = np.random.default_rng(4).normal(0, np.deg2rad(2.0), (*rotations.shape[:-2], 3))
    angle = np.linalg.norm(vector, axis=-1, keepdims=True)
    wrong = np.concatenate([np.cos(angle / 2), np.sin(angle / 2) * vector / np.maximum(angle, 1e-12)], axis=-1)
    noisy_rotations = multiply(from_matrix(rotations), wrong)
    return {
        "A": exact,
        "B": exact | {"tip_target": points[:, :, 3] + noise},
        "C2": exact | {"phal_quat": noisy_rotations, "kind": "phalanges"},
    }


@pytest.mark.parametrize(
    "row",
    [
        *(("exact", "A", solver, "") for solver in ("fabrik", "cga", "table", "dynamical")),
        *(("noise", "B", solver, "") for solver in ("fabrik", "cga", "table", "dynamical")),
        ("noise", "B", "fabrik", ", live smoothing"),
        ("noise", "B", "fabrik", ", whole take smoothed"),
        ("turns", "C2", "dynamical", ""),
        ("turns", "C2", "dynamical", ", whole take smoothed"),
    ],
    ids=lambda row: f"{row[0]}-{row[2]}{row[3]}",
)
def test_errors_on_the_standard_hand_are_those_of_the_benchmarks(row, problems, standard, script):
    section, problem, solver, suffix = row
    solve = standard.runner.solve_batch if "whole" in suffix else standard.runner.solve
    solved = solve(problems[problem], solver=solver, smooth=bool(suffix))
    figures = standard.score(problems[problem], solved)
    cells = [pattern.format_map(figures) for pattern in script("standard_page").COLUMNS.values()]
    check("reference/benchmarks.md", section, [[solver + suffix, *cells, None]])


@pytest.mark.parametrize("solver", ["cga", "fabrik"])
def test_the_papers_experiment_is_met_as_its_page_says(solver, script):
    papers = script("papers_cga")
    row = papers.row(f"{solver}, live", [papers.live(solver, case := papers.experiment(papers.LIVE))], case)
    check("explanation/cga.md", "papers", [[row[0], None, None, None, None, row[-1]]])


def test_what_passes_alone_leave_is_what_their_page_says(script):
    check("explanation/cga.md", "follow", script("papers_cga").following_rows())


def test_coordinate_descent_compares_as_its_page_says(script):
    found = script("coordinate_descent").rows(("fabrik", "ccd, 20 sweeps at most"))
    check("explanation/solving.md", "ccd", [[*row[:-1], None] for row in found])


def test_methods_on_the_same_chain_compare_as_their_page_says(script):
    check("explanation/chains.md", "methods", [[*row[:-1], None] for row in script("chains").rows_of("hinges")])


def test_errors_in_velocity_are_those_of_figure_7(script, glove, monkeypatch):
    figures = script("papers_dynamical")
    monkeypatch.setattr(figures, "CAPTURE", glove)
    recorded = figures.recorded()
    for speed, every in figures.SPEEDS.items():
        played = figures.at_speed(*recorded, every)
        row = figures.row(speed, "dynamical", played, figures.METHODS["dynamical"])
        (cells,) = figures.page_rows([row])
        check("explanation/dynamical.md", "figure 7", [[*cells[:-1], None]])


@pytest.mark.parametrize("solver", ["fabrik", "dynamical"])
def test_drags_are_as_exact_as_their_page_says(solver, script):
    cells = script("posing_solvers").measured(solver, 20)
    check("reference/posing-figures.md", "drag solvers", [[cells[0], None, *cells[2:-1], None]])


def test_another_figure_word_or_row_is_a_difference():
    assert differences("| a | 10.6 / 0.50 |", "| a | 10.7 / 0.48 |") == []
    assert differences("| a | 10.6 |", "| a | 24.1 |") == ["| a | 10.6 | -> | a | 24.1 |"]
    assert differences("| a | 1 |", "| b | 1 |") == ["| a | 1 | -> | b | 1 |"]
    with pytest.raises(ValueError, match="zip"):
        differences("| a | 1 |", "| a | 1 |\n| b | 1 |")
