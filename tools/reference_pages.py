"""Writes the pages of docs/reference that are generated from the code: cli.md, recipe.md and solver-settings.md.

    python tools/reference_pages.py

tests/pure/test_docs.py fails where a page differs from what this writes.
"""

import argparse
import ast
import dataclasses
import inspect
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from knuckle.capture.cleaning import Cleaning
from knuckle.cli.commands import command_parser
from knuckle.pipeline.capture_transform import CaptureTransform
from knuckle.pipeline.recipe import Recipe
from knuckle.solvers import SMOOTHING, SOLVER
from knuckle.solvers.registry import Registry
from knuckle.solvers.settings import describe_range, settings_of

FOLDER = Path(__file__).parents[1] / "docs" / "reference"


def main() -> None:
    """Write the pages."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """Return file name -> text of each page."""
    return {"cli.md": command_page(), "recipe.md": recipe_page(), "solver-settings.md": settings_page()}


def command_page() -> str:
    """Return the shell command's reference, from its argument parser."""
    parser = command_parser()
    intro = f"""
        # Command line

        `knuckle` is installed with the Python package (`pip install .[blender]`; in a checkout
        `.venv/3.13/bin/knuckle`). With the extension installed in Blender, the same commands run as
        `blender --command knuckle …`.

        {parser.epilog}

        Frames are counted from 1, as `knuckle info` counts them. Options override a recipe.
        """
    commands = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [textwrap.dedent(intro).strip()]
    parts += [command_section(name, command) for name, command in commands.choices.items()]
    return "\n\n".join(parts) + "\n"


def command_section(name: str, parser: argparse.ArgumentParser) -> str:
    """Return a command with its arguments."""
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    usage = " ".join([f"knuckle {name}", *(usage_of(action).replace(" ", "\xa0") for action in actions)])
    lines = textwrap.wrap(usage, 84, subsequent_indent=" " * 4, break_on_hyphens=False, break_long_words=False)
    text = [f"## {name}", str(parser.description), "\n".join(["```text", *lines, "```"]).replace("\xa0", " ")]
    if actions:
        rows = [f"| {spelled(action)} | {meaning(action)} |" for action in actions]
        text.append("\n".join(["| Argument | Meaning |", "|---|---|", *rows]))
    return "\n\n".join(text)


def usage_of(action: argparse.Action) -> str:
    """Return an argument as in the usage line."""
    value = value_of(action)
    text = " ".join([action.option_strings[0], *value]) if action.option_strings else value[0]
    return text if action.required else f"[{text}]"


def spelled(action: argparse.Action) -> str:
    """Return an argument's names."""
    return ", ".join(f"`{name}`" for name in action.option_strings or value_of(action))


def meaning(action: argparse.Action) -> str:
    """Return an argument's help, with the values it may have."""
    text = cell(action.help)
    return f"{text}. One of {', '.join(f'`{choice}`' for choice in action.choices)}" if action.choices else text


def value_of(action: argparse.Action) -> list[str]:
    """Return the value of an option in the usage line: none, its choices or its metavar."""
    if action.nargs == 0:
        return []
    if action.choices:
        return ["|".join(map(str, action.choices))]
    name = action.metavar or action.dest.upper()
    return list(name) if isinstance(name, tuple) else [name]


def recipe_page() -> str:
    """Return the fields of a recipe, from its dataclasses."""
    intro = """
        # Recipe

        A recipe is a JSON file that holds every choice between a capture and a solved take. The panel *Solve* saves and
        loads recipes from its menu, `knuckle solve --recipe` reads them, and in Python they are `knuckle.Recipe`. Only
        `capture` is required; fields that are left out have their defaults. An unknown name or a value of another
        type is refused.

        ```json
        {
          "capture": "take.c3d", "solver": "cga", "smoothing": "whole",
          "cleaning": {"cutoff": 12.0}
        }
        ```
        """
    cleaning = (
        "## cleaning\n\nHow markers are cleaned before they are solved ([file formats](captures.md#cleaning)).\n\n"
    )
    transform = (
        "## transform\n\nWhere the capture stands in the scene: the transform of its markers, and of what is solved "
        "from them.\n\n"
    )
    tables = [fields_table(Recipe), cleaning + fields_table(Cleaning), transform + fields_table(CaptureTransform)]
    return "\n\n".join([textwrap.dedent(intro).strip(), *tables]) + "\n"


def fields_table(kind: type[Any]) -> str:
    """Return a row for each field of a dataclass: name, type, default and docstring."""
    hints, description = get_type_hints(kind), field_docstrings(kind)
    rows = []
    for field in dataclasses.fields(kind):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        default_text = "required" if required else f"`{json.dumps(plain(default))}`"
        about = line(description.get(field.name))
        rows.append(f"| `{field.name}` | {type_name(hints[field.name])} | {default_text} | {about} |")
    return "\n".join(["| Field | Type | Default | Meaning |", "|---|---|---|---|", *rows])


def plain(value: object) -> object:
    """Return a default as JSON; a dataclass becomes an empty object, which stands for its defaults."""
    return {} if dataclasses.is_dataclass(value) else value


def type_name(hint: Any) -> str:
    """Return a type in plain words."""
    words = {str: "string", float: "number", int: "integer", bool: "true or false", type(None): "null"}
    if hint in words:
        return words[hint]
    if dataclasses.is_dataclass(hint) or getattr(hint, "__origin__", None) is dict:
        return "object"
    parts = getattr(hint, "__args__", ())
    if getattr(hint, "__origin__", None) is list:
        return f"list of {type_name(parts[0])}s"
    if getattr(hint, "__origin__", None) is tuple:
        return f"list of {len(parts)} numbers"
    return ", ".join(f"`{part}`" if isinstance(part, str) else type_name(part) for part in parts)


def field_docstrings(kind: type[Any]) -> dict[str, str]:
    """Field name -> the docstring below it."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(tree, ast.ClassDef)
    result = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            result[field.target.id] = str(ast.literal_eval(below.value))
    return result


def settings_page() -> str:
    """Return the settings of each solver and smoothing method, from their registries."""
    intro = """
        # Solver and smoothing settings

        Every setting of every solver, with its default. Set one in the panel *Solve*, in a shell with
        `--set NAME=VALUE` or `--set-smoothing NAME=VALUE`, in a recipe under `settings` or `smoothing_settings`.
        Lengths are in metres and angles in radians; the panel shows millimetres and degrees. `knuckle solvers`
        prints the same list. Which solver suits which recording: [Choose a solver](../how-to/solvers.md).
        """
    parts = [textwrap.dedent(intro).strip(), "## Solvers", *registry_sections(SOLVER)]
    return "\n\n".join([*parts, "## Smoothing", *registry_sections(SMOOTHING)]) + "\n"


def registry_sections(registry: Registry[Any]) -> Iterator[str]:
    """Yield a section for each registered kind."""
    for name, kind in registry.kinds.items():
        label = registry.label(name)
        yield f"### {name}\n\n{label.name}: {label.about}."
        rows = []
        for setting, (default, allowed) in settings_of(kind).items():
            about = allowed.about
            if isinstance(allowed.choices, dict):
                about += ". " + "; ".join(f"`{choice}`: {text}" for choice, text in allowed.choices.items())
            shown = json.dumps(default) if not isinstance(default, str) else default
            rows.append(f"| `{setting}` | `{shown}` | {describe_range(default, allowed)} | {cell(about)} |")
        if rows:
            yield "\n".join(["| Setting | Default | Allowed | Meaning |", "|---|---|---|---|", *rows])


def cell(text: str | None) -> str:
    """Return a table cell with a sentence that starts with a capital."""
    sentence = line(text)
    return sentence[:1].upper() + sentence[1:]


def line(text: str | None) -> str:
    """Return a text on one line, escaped for a table."""
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
