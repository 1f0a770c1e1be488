"""What a page of the documentation names, step by step."""

import re

from knuckle.tests.gui.conftest import ROOT


def steps_of_page(page: str) -> dict[str, tuple[set[str], set[str], str]]:
    """Of each numbered step of a tutorial the words in bold, the keys and the picture."""
    text = (ROOT / "docs" / "tutorials" / f"{page}.md").read_text()
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if numbered := re.match(r"(\d+)\. ", part):
            words, keys = re.findall(r"\*\*(.+?)\*\*", part), re.findall(r"<kbd>(.+?)</kbd>", part)
            picture = re.findall(r"\]\((?:\.\./)*(pictures/.+?)\)", part)
            found[numbered[1]] = set(words), set(keys), picture[0]
    return found
