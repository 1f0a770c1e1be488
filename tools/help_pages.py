"""Writes the documentation as HTML that a browser shows from the extension's folder, without a server or a network.

The zip holds these pages, and F1 opens them. Pictures of the tutorials and how-to pages come along, made smaller;
links to others are left out with them.
"""

import re
import sys
from html import escape
from pathlib import Path

import bpy
import markdown

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WITH_PICTURES = ("tutorials", "how-to")
WIDEST = 900
"""Maximum width of a picture in pixels."""
QUALITY = 50
EXTENSIONS = ["tables", "fenced_code", "attr_list", "toc", "sane_lists", "admonition"]
STYLE = """
body { font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
body { color: #222; background: #fff }
img { max-width: 100% }
table { border-collapse: collapse }
th, td { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top }
code { background: #8881; padding: .1em .25em; border-radius: 3px }
pre { background: #8881; padding: .8rem; overflow: auto }
pre code { background: none; padding: 0 }
kbd { border: 1px solid #999; border-radius: 3px; padding: 0 .3em }
a { color: #0b66c3 }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1d1d1d }
  a { color: #6cb4ff }
  th, td { border-color: #555 }
}
"""
_LINK = re.compile(r'(href|src)="([^":#]+)(#[^"]*)?"')
_IMAGE = re.compile(r'<img [^>]*src="([^"]+)"[^>]*/?>')
_CROSS_REFERENCE = re.compile(r"^::: (\S+)\n(?: +.*\n)*", re.MULTILINE)


def write_help(folder: Path) -> None:
    """Write all pages and their pictures below a folder. Exits with a message for a link that leads nowhere."""
    pictures: set[Path] = set()
    for page in sorted(DOCS.rglob("*.md")):
        written = (folder / page.relative_to(DOCS)).with_suffix(".html")
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(_page(page, pictures), encoding="utf-8")
    for picture in sorted(pictures):
        _write_picture(picture, folder / "pictures" / f"{picture.stem}.webp")


def _page(page: Path, pictures: set[Path]) -> str:
    """Return a page as HTML, and add what it shows to the pictures."""
    text = _CROSS_REFERENCE.sub(
        r"`help(\1)` in Blender's Python console describes it.\n", page.read_text(encoding="utf-8")
    )
    depth = "../" * (len(page.relative_to(DOCS).parts) - 1)
    shows = page.relative_to(DOCS).parts[0] in WITH_PICTURES

    def image(match: re.Match[str]) -> str:
        picture = (page.parent / match[1]).resolve()
        if not shows or picture.suffix != ".png":
            return ""
        pictures.add(picture)
        return match[0].replace(match[1], f"{depth}pictures/{picture.stem}.webp")

    def link(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        if match[1] == "src":
            return match[0]
        if not target.is_relative_to(DOCS):
            return 'title="In Knuckle\'s source"'
        if not target.is_file() or target.suffix != ".md":
            sys.exit(f"{page.relative_to(ROOT)}: {match[2]} does not exist")
        return f'{match[1]}="{match[2].removesuffix(".md")}.html{match[3] or ""}"'

    body = _LINK.sub(link, _IMAGE.sub(image, markdown.markdown(text, extensions=EXTENSIONS, output_format="html")))
    title = escape(text.splitlines()[0].lstrip("# "))
    home = "" if page == DOCS / "index.md" else f'<p><a href="{depth}index.html">Knuckle</a></p>\n'
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{STYLE}</style></head>\n<body>\n{home}{body}\n</body>\n</html>\n"
    )


def _write_picture(picture: Path, to: Path) -> None:
    """Write a picture as WebP, at most WIDEST pixels wide."""
    to.parent.mkdir(parents=True, exist_ok=True)
    image = bpy.data.images.load(str(picture))
    width, height = image.size
    if width > WIDEST:
        image.scale(WIDEST, round(height * WIDEST / width))
    image.file_format = "WEBP"
    image.save(filepath=str(to), quality=QUALITY)
    bpy.data.images.remove(image)
