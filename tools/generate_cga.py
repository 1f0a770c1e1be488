"""Writes solvers/cga/generated.py: products of G(4,1), each for the coefficients its arguments have and no others.

    python tools/generate_cga.py [FILE]

cga_definitions.py defines what is generated. Kingdon evaluates each formula symbolically in the orthonormal basis e1,
e2, e3, e+, e-; here its answer is brought to the null basis and written as plain arithmetic. Needs the extra `dev`.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from random import Random

import sympy
from cga_definitions import FUNCTIONS, ONES, TYPES, Function
from kingdon import Algebra, MultiVector
from sympy.printing.str import StrPrinter

TARGET = Path(__file__).parents[1] / "solvers" / "cga" / "generated.py"
WIDTH = 120

HEADER = '''"""Products of G(4,1) for the types that are used. Written by tools/generate_cga.py: do not edit.

Coefficients are floats, or arrays that broadcast against each other: every function serves both. In each docstring
stands the formula that the function was made from, in the notation of tools/cga_definitions.py.
"""

from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
T = TypeVar("T", float, Floats)
'''

ALGEBRA = Algebra(4, 1, simp_func=sympy.expand)
E1, E2, E3, PLUS, MINUS = (ALGEBRA.multivector(keys=(1 << k,), values=[sympy.Integer(1)]) for k in range(5))
BASIS = {"1": E1, "2": E2, "3": E3, "o": (MINUS - PLUS) * sympy.Rational(1, 2), "i": PLUS + MINUS}
I = E1 * E2 * E3 * PLUS * MINUS  # noqa: E741


def blades() -> list[str]:
    """Return the 32 blades of the null basis, e23 e31 e12 in the order that makes them the duals of e1 e2 e3."""
    space = ["", "1", "2", "3", "23", "31", "12", "123"]
    return ["e" + s + "".join(n) if s or n else "s" for s in space for k in range(3) for n in combinations("oi", k)]


def blade(name: str) -> MultiVector:
    """Return a blade of the null basis as a multivector of the orthonormal one."""
    product = ALGEBRA.multivector(keys=(0,), values=[sympy.Integer(1)])
    for letter in name.lstrip("se"):
        product = product ^ BASIS[letter]
    return product


@cache
def to_null() -> dict[int, list[tuple[str, sympy.Rational]]]:
    """Return each blade of the orthonormal basis as a combination of blades of the null basis."""
    names = blades()
    columns = [dict(blade(name).items()) for name in names]
    inverse = sympy.Matrix(32, 32, lambda row, column: columns[column].get(row, 0)).inv()
    return {key: [(name, x) for name, x in zip(names, inverse[:, key], strict=True) if x] for key in range(32)}


def fields(kind: str) -> list[str]:
    """Return the coefficients that a type keeps; a scalar's only one has no name."""
    return TYPES[kind][0].split() if kind in TYPES else ["s"]


def symbols(letter: str, kind: str) -> list[sympy.Symbol]:
    """Return one symbol for each coefficient of an argument: a23 is the coefficient of e23 in a."""
    if kind == "T":
        return [sympy.Symbol(letter, real=True)]
    return [sympy.Symbol(letter + (field.lstrip("e") if field != "s" else "0"), real=True) for field in fields(kind)]


def argument(letter: str, kind: str) -> MultiVector:
    """Return an argument with a symbol for each of its coefficients."""
    parts = [symbol * blade(field) for symbol, field in zip(symbols(letter, kind), fields(kind), strict=True)]
    if kind in ONES:
        parts.append(blade(ONES[kind]))
    return sum(parts[1:], parts[0])


def up(x: MultiVector) -> MultiVector:
    """Return the point of a vector of space."""
    return x + (x * x) * BASIS["i"] * sympy.Rational(1, 2) + BASIS["o"]


def space(a: MultiVector) -> MultiVector:
    """Return the part of a multivector in e1, e2 and e3."""
    coefficients = dict(a.items())
    return ALGEBRA.multivector(keys=(1, 2, 4), values=[coefficients.get(key, sympy.Integer(0)) for key in (1, 2, 4)])


def size(a: MultiVector) -> MultiVector:
    """Return each coefficient with all its terms' signs dropped."""
    return a.map(lambda value: sympy.Add(*map(abs, sympy.expand(value).as_ordered_terms())))


NAMES = {
    "o": BASIS["o"],
    "inf": BASIS["i"],
    "lc": lambda a, b: a.lc(b),
    "scalar": lambda a: a.grade(0),
    "rev": lambda a: ~a,
    "dual": lambda a: a * I,
    "undual": lambda a: -(a * I),
    "up": up,
    "space": space,
    "size": size,
    "over": lambda a, n: a * sympy.Rational(1, n),
}

BLADES = {"e1": E1, "e2": E2, "e3": E3}
# Constructions of objects whose coefficients are not independent.
SAMPLES = {
    "Plane": ("T", "over(2 * e1 - 3 * e2 + 6 * e3, 7) + x * inf"),
    "Circle": ("Sphere Sphere", "x ^ y"),
    "Line": ("Plane T", "x ^ (over(4 * e1 + 4 * e2 - 7 * e3, 9) + y * inf)"),
    "Pair": ("Sphere Sphere Sphere", "x ^ y ^ z"),
    "Rotor": ("", "over(10 + 4 * e2 * e3 - 2 * e3 * e1 + e1 * e2, 11)"),
    "Dilator": ("", "over(5 + 3 * (o ^ inf), 4)"),
    "Motor": ("Translator Rotor", "x * y"),
}


def evaluate(function: Function) -> list[sympy.Expr]:
    """Return the result's coefficients. Those that its type does not store must be 0, or 1 for a type of weight 1."""
    coefficients = null_coefficients(
        function, {letter: argument(letter, kind) for letter, kind in letter_types(function)}
    )
    stored = [coefficients.pop(field) for field in fields(function.result)]
    # Symbolically the others need not vanish, because symbols do not express that a circle is a blade or a motor has
    # length 1.
    example = null_coefficients(function, {letter: sample(letter, kind) for letter, kind in letter_types(function)})
    for field in coefficients:
        if example[field] != (field == ONES.get(function.result)):
            raise ValueError(f"{function.name}: {example[field]} {field}, which a {function.result} has not")
    return stored


def null_coefficients(function: Function, arguments: dict[str, MultiVector]) -> dict[str, sympy.Expr]:
    """Return the value of a formula, by blade of the null basis."""
    coefficients = dict.fromkeys(blades(), sympy.Integer(0))
    for key, coefficient in eval(function.formula, {**NAMES, **arguments}).items():
        for name, fraction in to_null()[key]:
            coefficients[name] += fraction * coefficient
    return {name: sympy.expand(coefficient) for name, coefficient in coefficients.items()}


def sample(letter: str, kind: str) -> MultiVector:
    """Return an exact example of a type: a true blade, or a unit versor."""
    if kind in SAMPLES:
        names = {name: sample(letter + name, part) for name, part in zip("xyz", SAMPLES[kind][0].split(), strict=False)}
        return eval(SAMPLES[kind][1], {**NAMES, **names, **BLADES})
    draw = Random(letter)
    parts = [sympy.Rational(draw.randint(-9, 9), draw.randint(1, 9)) * blade(field) for field in fields(kind)]
    return sum(parts[1:], parts[0] + blade(ONES[kind]) if kind in ONES else parts[0])


def letter_types(function: Function) -> list[tuple[str, str]]:
    """Return the arguments' names and types."""
    return list(zip("abcd", function.arguments.split(), strict=False))


class Arithmetic(StrPrinter):
    """Prints powers as products, which are faster for floats."""

    def _print_Pow(self, expr: sympy.Pow, rational: bool = False) -> str:  # noqa: N802 (sympy's way)
        base, power = expr.args
        if not power.is_Integer or power < 0:
            raise ValueError(f"no polynomial: {expr}")
        return "*".join([self.parenthesize(base, 50)] * int(power))

    def _print_Abs(self, expr: sympy.Abs) -> str:  # noqa: N802
        return f"abs({self._print(expr.args[0])})"


def python_source(expression: sympy.Expr) -> str:
    """Return an expression as Python source."""
    return ast.unparse(ast.parse(Arithmetic().doprint(expression), mode="eval"))


def nested(expression: sympy.Expr, arguments: list[list[sympy.Symbol]]) -> sympy.Expr:
    """Collect an expression by the last argument's coefficients, so that common factors of the others can be shared."""
    if len(arguments) < 2:
        return expression
    return sympy.collect(expression, arguments[-1], lambda e: nested(sympy.expand(e), arguments[:-1]))


def body(function: Function) -> Iterator[str]:
    """Yield the lines of a function, indented."""
    parts = [symbols(letter, kind) for letter, kind in letter_types(function)]
    shared, results = sympy.cse([nested(e, parts) for e in evaluate(function)], order="canonical")
    used = set().union(*(e.free_symbols for e in (*results, *(e for _, e in shared))))
    for (letter, kind), part in zip(letter_types(function), parts, strict=True):
        if kind != "T":
            yield f"    {', '.join(str(s) if s in used else '_' for s in part)} = {letter}"
    for name, expression in shared:
        yield from assignment(str(name), expression)
    if function.result == "T":
        line = f"    return {python_source(results[0])}"
        yield from [line] if len(line) <= WIDTH else ("    return (", *by_term(results[0]), "    )")
    else:
        yield from return_statement(function.result, results, f"0.0 * {min(map(str, used))}")


def assignment(name: str, expression: sympy.Expr) -> Iterator[str]:
    """Yield one assignment; a long sum takes several."""
    terms = expression.as_ordered_terms()
    line = f"    {name} = {python_source(expression)}"
    if len(line) <= WIDTH:
        yield line
        return
    half = len(terms) // 2
    yield from assignment(name, sum(terms[:half]))
    yield from assignment(name, sympy.Add(sympy.Symbol(name), *terms[half:], evaluate=False))


def return_statement(kind: str, results: list[sympy.Expr], zero: str) -> Iterator[str]:
    """Yield the return statement of an object, on one line if it fits, else with a line for each coefficient or
    term."""
    # A constant must have the shape of the other coefficients.
    texts = [python_source(e) if e.free_symbols else (f"{float(e)} + {zero}" if e else zero) for e in results]
    line = f"    return {kind}({', '.join(texts)})"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"    return {kind}("
    for text, expression in zip(texts, results, strict=True):
        if len(text) + 9 <= WIDTH:
            yield f"        {text},"
        else:
            *lines, last = by_term(expression)
            yield from (*lines, f"{last},")
    yield "    )"


def by_term(expression: sympy.Expr) -> Iterator[str]:
    """Yield a sum with a line for each term."""
    first, *others = (python_source(term) for term in expression.as_ordered_terms())
    yield f"        {first}"
    yield from (f"        - {term[1:]}" if term.startswith("-") else f"        + {term}" for term in others)


def annotation(kind: str) -> str:
    """Return a type as an annotation."""
    return "T" if kind == "T" else f"{kind}[T]"


def module() -> Iterator[str]:
    """Yield the lines of the file."""
    yield from HEADER.splitlines()
    for kind, (_, doc) in TYPES.items():
        yield from ("", "", f"class {kind}(NamedTuple, Generic[T]):", f'    """{doc}"""', "")
        yield from (f"    {field}: T" for field in fields(kind))
    for function in FUNCTIONS:
        arguments = ", ".join(f"{letter}: {annotation(kind)}" for letter, kind in letter_types(function))
        yield from ("", "", f"def {function.name}({arguments}) -> {annotation(function.result)}:")
        yield from ('    """' + f"{function.doc} Made from {function.formula}." + '"""', *body(function))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text("\n".join(module()) + "\n", encoding="utf-8")
