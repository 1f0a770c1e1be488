"""Mutants: one operator of a function changed at a time, and those that are known to be equivalent.

A mutant inverts an operator: a sum, a product, a comparison, an `and`, a `not`, a minus sign, the two sides of a
conditional expression.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.tsv")
"""Equivalent mutants: module, function, mutated expression, reason; blanks and tabs as in the first line."""

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}

Key = tuple[str, str, str]
"""Module, function and mutated expression: identifies a mutant independently of line numbers."""


@dataclass(frozen=True)
class Mutant:
    """A change of one operator in a module.

    `lines` are the first and last line of the mutated expression, `span` its bytes in the file.
    """

    module: str
    function: str
    old: str
    new: str
    lines: tuple[int, int]
    span: tuple[int, int]

    def __str__(self) -> str:
        return f"{self.module}:{self.lines[0]} {self.function}: {self.old} -> {self.new}"

    @property
    def key(self) -> Key:
        """Identifier of the mutant."""
        return self.module, self.function, self.old

    @property
    def path(self) -> Path:
        """The module's file."""
        return ROOT / self.module

    def code(self) -> CodeType:
        """Return the compiled mutated module; line numbers after the change stay the same."""
        source, (start, end) = source_of(self.path), self.span
        missing = source[start:end].count(b"\n")
        new = self.new[:-1] + "\n" * missing + self.new[-1]
        return compile(source[:start] + new.encode() + source[end:], str(self.path), "exec", dont_inherit=True)


@cache
def source_of(module: Path) -> bytes:
    """Return a module's source as first read, regardless of edits while mutants are tried."""
    return module.read_bytes()


def mutants_of(module: Path) -> list[Mutant]:
    """Return all mutants of a module. Equal expressions in a function are numbered from the second on: `a - b #2`."""
    source = source_of(module)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    mutants, counts = [], Counter[Key]()
    for function, node in _expressions(ast.parse(source)):
        for new in broken(node):
            span = (starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset)
            lines = (node.lineno, node.end_lineno)
            mutant = Mutant(str(module.relative_to(ROOT)), function, ast.unparse(node), new, lines, span)
            counts[mutant.key] += 1
            number = counts[mutant.key]
            mutants.append(mutant if number == 1 else replace(mutant, old=f"{mutant.old} #{number}"))
    return mutants


def text_mutant(module: str, old: str, new: str) -> Mutant:
    """Return the mutant with `new` instead of the text `old`, which must occur once in the module.

    Raises ValueError if it has not.
    """
    source = source_of(ROOT / module)
    if source.count(old.encode()) != 1:
        raise ValueError(f"{module}: {source.count(old.encode())} times {old!r}, expected once")
    start = source.index(old.encode())
    line = source.count(b"\n", 0, start) + 1
    names = [
        function for function, node in _expressions(ast.parse(source)) if node.lineno <= line <= (node.end_lineno or 0)
    ]
    return Mutant(module, names[0], old, new, (line, line + old.count("\n")), (start, start + len(old.encode())))


def _expressions(tree: ast.Module) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Yield (name of function or method, expression or statement) of all code that runs when functions are called."""
    holders: list[tuple[str, ast.AST]] = [("", tree)]
    while holders:
        name, holder = holders.pop(0)
        for node in ast.iter_child_nodes(holder):
            if isinstance(node, ast.ClassDef):
                holders.append((f"{name}{node.name}.", node))
            elif isinstance(node, ast.FunctionDef):
                for statement in node.body:
                    for inner in ast.walk(statement):
                        if isinstance(inner, ast.expr | ast.stmt):
                            yield name + node.name, inner


def broken(node: ast.AST) -> Iterator[str]:
    """Yield the sources of an expression or an assignment with one of its operators inverted."""
    for other in _inverted(node):
        text = ast.unparse(other)
        yield text if isinstance(other, ast.stmt) else f"({text})"


def _inverted(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare):
        for number, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[number] = COMPARISONS[type(operator)]()
            yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        yield _with(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.IfExp):
        yield _with(node, body=node.orelse, orelse=node.body)


def _with(node: ast.AST, **fields: ast.AST) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def equivalent() -> dict[Key, str]:
    """Return equivalent mutants -> reason.

    Raises ValueError for a line that is not module, function, expression and reason, or names one twice.
    """
    reasons: dict[Key, str] = {}
    for number, line in enumerate(EQUIVALENT.read_text().splitlines(), 1):
        fields = line.split("\t")
        if len(fields) != 4 or not all(fields) or tuple(fields[:3]) in reasons:
            raise ValueError(f"{EQUIVALENT.name}:{number}: expected module, function, expression and reason, once")
        reasons[fields[0], fields[1], fields[2]] = fields[3]
    return reasons
