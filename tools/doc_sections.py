"""Sections of documentation pages, filled by scripts, between the markers <!-- name --> and <!-- /name -->."""

import re
from collections.abc import Mapping
from pathlib import Path

SECTION = re.compile(r"<!-- ([\w -]+) -->\n(.*?)<!-- /\1 -->", re.DOTALL)


def sections_of(page: Path) -> dict[str, str]:
    """Return the text of each section of a page by its name."""
    return dict(SECTION.findall(page.read_text(encoding="utf-8")))


def fill(page: Path, sections: Mapping[str, str]) -> None:
    """Replace the text of sections of a page. Exits if the page lacks one of them."""
    missing = sections.keys() - sections_of(page)
    if missing:
        raise SystemExit(f"{page}: there is no marker <!-- {min(missing)} -->")

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        text = f"{sections[name].rstrip()}\n" if name in sections else match[2]
        return f"<!-- {name} -->\n{text}<!-- /{name} -->"

    page.write_text(SECTION.sub(replaced, page.read_text(encoding="utf-8")), encoding="utf-8")
