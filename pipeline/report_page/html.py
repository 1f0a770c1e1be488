"""Build HTML from elements. All text is escaped, except for the output of these functions."""

import base64
import hashlib
from html import escape

MAX_TEXT = 2000
"""Maximum number of characters shown of a text from a file."""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(content: object) -> Html:
    """Return text as HTML; control characters and lone surrogates are replaced by a replacement character."""
    clean = str(content).encode("utf-8", "replace").decode()
    return Html(escape(clean if clean.isprintable() else "".join(map(_visible, clean))))


def _visible(char: str) -> str:
    return char if char.isprintable() else "\ufffd"


def cut(content: object, max_length: int = MAX_TEXT) -> str:
    """Return text from a file, truncated if it is very long."""
    plain = str(content)
    return plain if len(plain) <= max_length else f"{plain[:max_length]} ..."


def element(tag: str, /, *parts: object, **attributes: object) -> Html:
    """Return an element with parts that are Html or text; class_ and for_ stand for class and for, _ for a hyphen.

    Attributes that are None or False are omitted; attributes that are True have no value.
    """
    words = [tag]
    for key, value in attributes.items():
        if value is not None and value is not False:
            name = key.rstrip("_").replace("_", "-")
            words.append(name if value is True else f'{name}="{text(value)}"')
    opened = f"<{' '.join(words)}>"
    return Html(opened) if tag in VOID else Html(f"{opened}{joined(*parts)}</{tag}>")


VOID = frozenset({"meta", "img", "br"})


def joined(*parts: object) -> Html:
    """Return parts that are Html or text, joined; None is omitted."""
    return Html("".join(part if isinstance(part, Html) else text(part) for part in parts if part is not None))


def document(title: str, style: str, script: str, *body: Html) -> str:
    """Return a whole page. Its content security policy forbids loading anything and running any script but this one."""
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        Html(f"<style>{style}</style>"),
    )
    return (
        f'<!doctype html>\n<html lang="en">{head}{element("body", *body, Html(f"<script>{script}</script>"))}</html>\n'
    )


def _hash(content: str) -> str:
    """Return the hash by which the content security policy allows an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
