"""Markers worn on the skin in another laboratory, on which nothing was tuned: a table of docs/reference/accuracy.md.

    git clone https://github.com/Amartya32/Leap_and_Motion_Capture
    python tools/benchmarks/skin_elsewhere.py Leap_and_Motion_Capture

Takes of Ganguly, Rashidi and Mombaur 2021 (doi:10.3390/s21051750): 24 markers over the joints of right hands, 150 Hz.
Each take moves one finger. Performers are not named; those of PERFORMERS have bones of one length in all their takes.
"""

import argparse
import os
from pathlib import Path

import numpy as np
import skin_real
from skin_takes import ROOT, Clip, Split
from skin_worn import Worn
from standard_page import fill, table

PERFORMERS = {
    "1": (("Ring_flexion_0", "Middle_flexion_17", "Thumb_abduction_6"), ("Index_flexion_2", "Pinky_flexion_2")),
    "2": (("Ring_flexion_16", "Middle_flexion_3", "Thumb_abduction_4"), ("Index_flexion_3", "Pinky_flexion_3")),
    "3": (("Ring_flexion_3", "Middle_flexion_4", "Thumb_abduction_7"), ("Index_flexion_5", "Pinky_flexion_14")),
    "4": (("Ring_flexion_12", "Middle_flexion_2", "Thumb_abduction_5"), ("Index_flexion_10", "Pinky_flexion_15")),
}
"""Performer -> takes for calibration and for testing: file and trial."""
FRAMES = slice(200, 500)
"""Two seconds of each test take in which the finger moves."""
DIGIT_WORDS = ("Thumb", "Index", "Middle", "Ring", "Pinky")
PARTS = {"FT": "Tip", "DP": "DIP", "PP": "PIP", "MP": "MCP", "CMC": "CMC"}
"""Part in the set's labels -> name of the joint in the takes of the first table."""
OTHERS = {"IP": "ThumbIP", "RS": "WristIn", "US": "WristOut"}
NOT_OF_THE_HAND = ("EM", "EL")
"""Markers of the elbow."""


def read_table(path: Path) -> Clip:
    """Return a take of the set: columns of frame, time and three for each marker, in mm with Y up."""
    head, *lines = path.read_text().splitlines()
    separator = "\t" if "\t" in head else ","
    titles, rows = head.split(separator), [line.split(separator) for line in lines if line.strip()]
    values = np.array([[float(cell) if cell.strip() else np.nan for cell in row[: len(titles)]] for row in rows])
    columns = [(title[:-1], column) for column, title in enumerate(titles[2:], start=2) if title.endswith("X")]
    hand_columns = [(label, column) for label, column in columns if label not in NOT_OF_THE_HAND]
    x, y, z = (np.stack([values[:, column + axis] for _, column in hand_columns], axis=1) / 1000 for axis in range(3))
    rate = 1 / float(np.median(np.diff(values[:, 1])))
    return Clip(
        path.stem, "right", rate, tuple(label_of(label) for label, _ in hand_columns), np.stack([x, -z, y], axis=-1)
    )


def label_of(label: str) -> str:
    """Return the label as the takes of the first table have it: IndexTip for FT2."""
    return OTHERS.get(label) or DIGIT_WORDS[int(label[-1]) - 1] + PARTS[label[:-1]]


def splits(folder: Path) -> list[Split]:
    """Return the hand of every performer."""

    def take(name: str) -> Clip:
        file, _, trial = name.rpartition("_")
        return read_table(folder / "Dynamic" / "Dynamic_Mocap" / f"{file}_mocap" / f"{file}_trial{trial}.csv")

    return [
        Split(
            performer,
            "right",
            tuple(take(name) for name in calibration),
            tuple(take(name).frames(FRAMES) for name in test),
        )
        for performer, (calibration, test) in PERFORMERS.items()
    ]


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the checkout with the takes")
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    options = parser.parse_args()
    methods = [Worn("fitted hand, three takes"), Worn("fitted hand, the take itself", alone=True)]
    section = table(skin_real.HEAD, list(skin_real.rows(methods, splits(options.folder))))
    print(section, flush=True)
    fill(options.out / "reference" / "accuracy.md", {"skin-elsewhere": section})
    # The bpy module is known to hang when the interpreter exits.
    os._exit(0)


if __name__ == "__main__":
    main()
