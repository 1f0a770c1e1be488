"""What the pages and the docstrings name is there: modules, folders, pictures and other pages."""

import re
import tomllib
from pathlib import Path

import pytest

from knuckle.tools import architecture, reference_pages
from knuckle.tools.docs import COLLECTED, nav_pages

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = sorted(each.parent.name for each in ROOT.glob("*/__init__.py"))
OWN = [*ROOT.glob("*.py"), *(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))]
TESTS = list((ROOT / "tests").rglob("*.py"))


def modules_in(file):
    """The modules that a text names: some/module.py, module.py, some/module*.py."""
    return re.findall(r"(?<![\w/.*-])(?:\.\./|knuckle/)?([\w/*-]+\.py)\b", file.read_text(encoding="utf-8"))


def links(page):
    return [to for to in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")) if "://" not in to]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_modules_and_folders_that_a_page_names_are_there(page):
    """From the checkout's root, or, where one knows what is spoken of, by the end of the way there."""
    folders = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w/]*)`", page.read_text(encoding="utf-8"))
    assert [name for name in folders if not (ROOT / name).is_dir()] == []
    modules = [name for name in modules_in(page) if not any(ROOT.glob(name))]
    assert [name for name in modules if not any(file.match(name) for file in [*OWN, *TESTS])] == []


def test_the_modules_that_a_module_names_are_there():
    """In the folder of the extension that it is in itself, or from the checkout's root."""
    named = 0
    for file in OWN:
        station = ROOT / file.relative_to(ROOT).parts[0]
        for name in modules_in(file):
            named += 1
            assert any(ROOT.glob(name)) or any(station.rglob(name)), f"{file}: {name}"
    assert named > 30


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_there(page):
    assert [to for to in links(page) if not (page.parent / to).exists()] == []


@pytest.mark.parametrize("name", ["cli.md", "recipe.md", "solver-settings.md"])
def test_pages_that_follow_from_the_code_are_up_to_date(name):
    text = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
    assert text == reference_pages.pages()[name], "run make docs and commit the pages"


def test_the_architecture_drawing_is_up_to_date():
    rooms = architecture.read_rooms(ROOT)
    drawn = architecture.drawing(rooms, architecture.rows_of(rooms))
    assert architecture.PICTURE.read_text(encoding="utf-8") == drawn, "run make docs and commit the drawing"


def test_imports_in_a_circle_are_reported_with_their_files(tmp_path):
    for room, imported in (("first", "second"), ("second", "third"), ("third", "first"), ("alone", "first")):
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text(f'"""A room."""\n\nfrom ..{imported} import thing\n')
    with pytest.raises(SystemExit, match=r"first imports second in first/__init__\.py:3") as reported:
        architecture.rows_of(architecture.read_rooms(tmp_path))
    assert "alone" not in str(reported.value)


def test_the_nav_names_every_page():
    nav = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    pages = {str(page.relative_to(ROOT / "docs")) for page in PAGES if page.name != "README.md"}
    assert nav_pages(nav) == pages | set(COLLECTED.values())


def test_every_picture_is_on_a_page():
    shown = {(page.parent / to).resolve() for page in PAGES for to in links(page)}
    pictures = [file for file in (ROOT / "docs" / "pictures").iterdir() if file.is_file()]
    assert pictures
    assert sorted(file.name for file in pictures if file.resolve() not in shown) == []
