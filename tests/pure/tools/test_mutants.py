"""tools/mutants.py: every operator is broken once, and what is said of mutants is said of ones that there are."""

import ast
from typing import Any

import pytest

from knuckle.tools import mutants, mutate

SOURCE = '''
def area(a, b, *, signed=-1):
    """a + b"""
    if not a or a < b:
        return abs(a -
                   b) * 2
    a += b
    return (lambda x: -x)(a) if b == 1 else a - b


class Grid:
    def step(self):
        return self.size / 2
'''


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    path = tmp_path / "shapes.py"
    path.write_text(SOURCE)
    return path


def test_each_operator_of_functions_is_broken_once(module):
    found = {(each.function, each.old): each.new for each in mutants.mutants_of(module)}
    assert found == {
        ("area", "not a or a < b"): "(not a and a < b)",
        ("area", "not a"): "(a)",
        ("area", "a < b"): "(a >= b)",
        ("area", "abs(a - b) * 2"): "(abs(a - b) / 2)",
        ("area", "a - b"): "(a + b)",
        ("area", "a += b"): "a -= b",
        ("area", "(lambda x: -x)(a) if b == 1 else a - b"): "(a - b if b == 1 else (lambda x: -x)(a))",
        ("area", "-x"): "(x)",
        ("area", "b == 1"): "(b != 1)",
        ("area", "a - b #2"): "(a + b)",
        ("Grid.step", "self.size / 2"): "(self.size * 2)",
    }


def test_a_break_changes_its_function_alone_and_moves_no_line(module):
    for mutant in mutants.mutants_of(module):
        before, after = functions(compile(SOURCE, "shapes.py", "exec")), functions(mutant.code())
        for name in ("area", "Grid.step"):
            assert (before[name] == after[name]) == (name != mutant.function)
            assert before[name].co_firstlineno == after[name].co_firstlineno


def functions(code):
    scope: dict[str, Any] = {}
    exec(code, scope)
    return {"area": scope["area"].__code__, "Grid.step": scope["Grid"].step.__code__}


def test_every_named_break_and_every_equivalent_mutant_is_in_the_code():
    for change in mutate.NAMED:
        ast.parse(mutants.source_of(mutants.text_mutant(*change).path))
    known = mutants.equivalent()
    found = {module: {mutant.key for mutant in mutants.mutants_of(mutants.ROOT / module)} for module, *_ in known}
    assert [key for key in known if key not in found[key[0]]] == []


@pytest.mark.parametrize("pattern", mutate.MODULES)
def test_modules_that_are_broken_are_there_and_so_are_their_tests(pattern):
    modules = [str(path.relative_to(mutants.ROOT)) for path in mutants.ROOT.glob(pattern)]
    assert modules
    for folder in {folder for module in modules for folder in mutate.tests_of(module).folders}:
        assert any((mutants.ROOT / folder).rglob("test_*.py")), folder
