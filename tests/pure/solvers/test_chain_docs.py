"""The code in docs/chains.md does what the page says."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "chains.md"


def test_the_code_of_the_page_runs_and_what_it_asserts_is_true():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_the_pictures_of_the_page_are_there():
    pictures = re.findall(r"\]\((pictures/.*?)\)", PAGE.read_text(encoding="utf-8"))
    assert len(pictures) == 4
    assert all((PAGE.parent / picture).is_file() for picture in pictures)
