"""What operators report, which Blender passes on to the terminal it was started from."""

import ast
from pathlib import Path

import bpy
import pytest

from knuckle.tests.resources import ROOT

OPERATORS = sorted((ROOT / "operators").glob("*.py"))


@pytest.mark.usefixtures("extension")
def test_a_terminal_is_not_controlled_by_what_a_file_says(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    capture = tmp_path / "\x1b]0;title\x07.csv"
    capture.write_text("no capture \x1b[2J")
    with pytest.raises(RuntimeError, match=r"\\x1b\]0;title\\x07") as refused:
        bpy.ops.knuckle.import_capture(filepath=str(capture))
    assert "\x1b" not in str(refused.value)
    bpy.context.scene.knuckle.capture = str(capture)
    with pytest.raises(RuntimeError):
        bpy.ops.knuckle.solve()
    printed = "".join(capfd.readouterr())
    assert "\x1b" not in printed and "\x9b" not in printed


@pytest.mark.parametrize("path", OPERATORS, ids=lambda path: path.stem)
def test_operators_report_by_the_one_function_that_makes_text_printable(path: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    reports = [call for call in calls if isinstance(call, ast.Attribute) and call.attr == "report"]
    assert len(reports) == (path.stem == "reports")
