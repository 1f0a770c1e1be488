"""What the pages and the docstrings name is there: files, folders, pictures and other pages."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = sorted(each.parent.name for each in ROOT.glob("*/__init__.py"))
OWN = [*ROOT.glob("*.py"), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))]
MODULES = [*OWN, *(file for folder in ("tests", "tools", "benchmarks") for file in (ROOT / folder).rglob("*.py"))]


def named(page):
    """The files and folders of the checkout that a text names: some/module.py, module.py, solvers/qp/."""
    text = page.read_text(encoding="utf-8")
    modules = re.findall(r"(?<![\w/.*-])(?:\.\./)?([\w/*-]+\.py)\b", text)
    folders = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w/]*)`", text)
    return {name.removeprefix("knuckle/") for name in modules} | {name.rstrip("/") for name in folders}


def is_there(name):
    """Beside any module, or from the checkout's root."""
    return any(ROOT.glob(name)) or any(file.match(name) for file in MODULES)


def links(page):
    return [to for to in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")) if "://" not in to]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_modules_and_folders_that_a_page_names_are_there(page):
    assert [name for name in named(page) if not is_there(name)] == []


def test_the_modules_that_docstrings_name_are_there():
    lost = {str(file.relative_to(ROOT)): [name for name in named(file) if not is_there(name)] for file in OWN}
    assert len(lost) > 100
    assert {file: names for file, names in lost.items() if names} == {}


def test_every_picture_is_on_a_page():
    shown = {(page.parent / to).resolve() for page in PAGES for to in links(page)}
    pictures = [file for file in (ROOT / "docs" / "pictures").iterdir() if file.is_file()]
    assert pictures
    assert sorted(file.name for file in pictures if file.resolve() not in shown) == []
