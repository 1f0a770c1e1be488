"""Mutations of bytes, as caused by transmission errors, crashed programs and attackers."""

import random
import re
from collections.abc import Callable

MAX_REPEATED = 65_536
"""Maximum number of bytes that a repetition adds."""
EXTREMES = [0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF]
FLOATS = [0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x00000001, 0x47C35000]
"""Bit patterns of ±infinity, NaN, the largest and the smallest number, and 100000."""
WORDS = [
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"9" * 400,
    b"null",
    b"true",
    b"[[[[",
    b"}",
    b'"',
    b"\\u0000",
    b"\xff",
    b"-",
    b"",
]
VALUES = [
    b"0",
    b"-0",
    b"1",
    b"-1",
    b"1e308",
    b"1e-320",
    b"9e3",
    b"1e5",
    b"NaN",
    b"-Infinity",
    b"null",
    b"true",
    b'""',
    b"[]",
]
NUMBER = re.compile(rb"-?\d+(\.\d+)?(e-?\d+)?")

Mutation = Callable[[random.Random, bytearray, list[bytes]], None]


def flip(dice: random.Random, packet: bytearray, _: list[bytes]) -> None:
    """Flip some bits."""
    for _number in range(dice.choice([1, 1, 2, 8])):
        packet[dice.randrange(len(packet))] ^= 1 << dice.randrange(8)


def cut(dice: random.Random, packet: bytearray, _: list[bytes]) -> None:
    """Cut off the end, or cut out a piece."""
    start = dice.randrange(len(packet))
    del packet[start : start + dice.choice([1, 4, 16, len(packet)])]


def repeat(dice: random.Random, packet: bytearray, _: list[bytes]) -> None:
    """Repeat a piece once or many times."""
    start, length = dice.randrange(len(packet)), dice.choice([1, 2, 4, 8, 64, len(packet)])
    piece = packet[start : start + length] * dice.choice([1, 1, 2, 50])
    packet[start:start] = piece[:MAX_REPEATED]


def extreme(dice: random.Random, packet: bytearray, _: list[bytes]) -> None:
    """Overwrite 1 to 8 bytes, usually aligned, with a boundary value in either byte order."""
    size = dice.choice([1, 2, 4, 4, 4, 8])
    value = dice.choice(FLOATS if size == 4 and dice.random() < 0.3 else EXTREMES) & ((1 << 8 * size) - 1)
    position = dice.randrange(len(packet)) // size * size if dice.random() < 0.8 else dice.randrange(len(packet))
    packet[position : position + size] = value.to_bytes(size, dice.choice(["little", "big"]))


def word(dice: random.Random, packet: bytearray, _: list[bytes]) -> None:
    """Replace 0 to 9 bytes with a token that parsers often mishandle."""
    position = dice.randrange(len(packet))
    packet[position : position + dice.choice([0, 1, 4, 9])] = dice.choice(WORDS)


def value(dice: random.Random, packet: bytearray, _: list[bytes]) -> None:
    """Replace a number in text with another value; the text around it stays valid."""
    number = NUMBER.search(packet, dice.randrange(len(packet)))
    if number is not None:
        packet[number.start() : number.end()] = dice.choice(VALUES)


def splice(dice: random.Random, packet: bytearray, others: list[bytes]) -> None:
    """Replace the end with the end of another packet."""
    other = dice.choice(others)
    start = dice.randrange(len(packet))
    begin = dice.randrange(len(other) + 1) if dice.random() < 0.5 else min(start, len(other))
    packet[start:] = other[begin:]


def noise(dice: random.Random, packet: bytearray, _: list[bytes]) -> None:
    """Overwrite bytes with random ones."""
    start = dice.randrange(len(packet))
    packet[start : start + dice.choice([1, 4, 32])] = dice.randbytes(dice.choice([1, 4, 32]))


MUTATIONS: list[Mutation] = [flip, flip, cut, repeat, extreme, extreme, value, value, word, splice, noise]


def mutated(dice: random.Random, content: bytes, others: list[bytes], counts: list[int]) -> bytes:
    """Return a copy with a number of mutations drawn from `counts`."""
    result = bytearray(content)
    for _ in range(dice.choice(counts)):
        if result:
            dice.choice(MUTATIONS)(dice, result, others)
    return bytes(result)
