"""Hands solved in a camera's picture, and the detector's own, against renders whose joints are known.

    python tools/benchmarks/camera.py [--out docs] [--keep]
    python tools/benchmarks/camera.py --page 02-glove-palm 08-headset-palm

Fills the tables of docs/explanation/camera.md. The videos are rendered by camera_takes.py; their landmarks are
`landmarks.json` beside each video's pictures, as any detector writes them. --page has Knuckle's own page find them
instead, in a browser, for the videos that are named, and puts the rows below those of the other detector. --keep also
writes what the tests read. Needs bpy, scipy and ../shared.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from camera_data import hand_length, keep, landmarks, true_joints
from camera_detector import page_landmarks
from camera_live import LIVE_HEAD, live_cells, streamed
from camera_scores import Score, score
from camera_takes import ANGLE_OF_VIEW, BUILD, VIDEOS, Video
from numpy.typing import NDArray
from skin_hands import SHAPES
from skin_takes import ROOT
from standard_page import fill, table

from knuckle import capture
from knuckle.hand.camera.picture_landmarks import LANDMARK_JOINTS
from knuckle.hand.generators import run_to_end
from knuckle.pipeline.camera_hands import fit_camera_hands
from knuckle.pipeline.recipe import Recipe

Floats = NDArray[np.float64]

HEAD = [
    "video",
    "PA-MPJPE mm",
    "ratio",
    "p95 mm",
    "MPJPE mm",
    "jitter",
    "bones' spread %",
    "bends °",
    "leaps",
    "wrist %",
]
TEST_VIDEOS = (0, 6, 7, 8, 11, 13)
"""The videos that the tests read."""


def solved(video: Video, found: dict[str, Any]) -> tuple[Floats, Floats]:
    """Return the joints (F, 21, 3) m in the camera's space: the detector's, relative to a centre, and Knuckle's."""
    path = BUILD / video.name / "landmarks-read.json"
    path.write_text(json.dumps(found))
    markers = capture.read(path)
    length = hand_length(true_joints(video))
    recipe = Recipe(str(path), angle_of_view=ANGLE_OF_VIEW, hand_length=length)
    fitted = run_to_end(fit_camera_hands(recipe, markers))
    side = fitted.names[0].partition(":")[0]
    columns = [fitted.names.index(f"{side}:{joint}") for joint in LANDMARK_JOINTS]
    x, y, z = np.moveaxis(fitted.positions[:, columns], -1, 0)
    return markers.pictures[0].widened().world, np.stack([x, -z, y], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """A video's name and scores: of the whole take, and of the frames in which a live hand is displayed."""

    name: str
    detector: Score
    knuckle: Score
    live: tuple[Score, Score, Score]
    """The detector's, live, and of the whole take."""
    milliseconds: float
    """Median of the live frames."""

    @property
    def cells(self) -> list[str]:
        """Return the row of the table of whole takes."""
        return [self.name, *cells(self.detector, self.knuckle)]

    @property
    def live_cells(self) -> list[str]:
        """Return the row of the table of live hands."""
        detector, live, take = self.live
        return [self.name, *live_cells(detector, take, live, self.milliseconds)]


def scored(video: Video, found: dict[str, Any]) -> Scored:
    """Solve a video in all ways."""
    theirs, ours = solved(video, found)
    true = true_joints(video)
    recipe = Recipe(video.name, angle_of_view=ANGLE_OF_VIEW, hand_length=hand_length(true))
    live = streamed(found, recipe)
    seen = slice(live.first, None)
    return Scored(
        title(video),
        score(theirs, true, placed=False),
        score(ours, true, placed=True),
        (
            score(theirs[seen], true[seen], placed=False),
            score(live.joints[seen], true[seen], placed=True),
            score(ours[seen], true[seen], placed=True),
        ),
        float(np.median(live.milliseconds[seen])),
    )


def title(video: Video) -> str:
    """Return the description of a video for the table."""
    kind = "Knuckle" if video.hand < len(SHAPES) else "MakeHuman"
    words = [kind, SHAPES[video.hand % len(SHAPES)].name, video.motion, video.view, video.background, video.skin]
    return ", ".join(words + ["blurred"] * video.blurred)


def cells(detector: Score, knuckle: Score) -> list[str]:
    """Return a row's figures, the detector's own and Knuckle's."""
    pairs = [(getattr(detector, name), getattr(knuckle, name)) for name in ("pa_mpjpe", "pa_p95", "mpjpe")]
    pa, p95, wrist_about = (f"{a:.1f} → {b:.1f}" for a, b in pairs)
    return [
        pa,
        f"{knuckle.pa_mpjpe / detector.pa_mpjpe:.2f}",
        p95,
        wrist_about,
        f"{detector.jitter:.1f} → {knuckle.jitter:.1f}",
        f"{detector.bone_spread:.0f} → {knuckle.bone_spread:.0f}",
        f"{detector.bend:.0f} → {knuckle.bend:.0f}",
        f"{detector.leaps} → {knuckle.leaps}",
        f"{knuckle.wrist:.1f}",
    ]


def mean(name: str, videos: list[Scored]) -> Scored:
    """Return the mean of several videos; leaps are counted together."""
    detector, live, take = (mean_score([one.live[way] for one in videos]) for way in range(3))
    return Scored(
        f"**{name}**",
        mean_score([one.detector for one in videos]),
        mean_score([one.knuckle for one in videos]),
        (detector, live, take),
        float(np.mean([one.milliseconds for one in videos])),
    )


def mean_score(scores: list[Score]) -> Score:
    """Return the mean of several videos; leaps are counted together."""
    values = np.array([vars_of(one) for one in scores])
    return Score(*values.mean(axis=0)[:-1], int(values[:, -1].sum()))


def vars_of(one: Score) -> list[float]:
    """Return a score's figures in their order."""
    return [getattr(one, name) for name in Score.__dataclass_fields__]


def page_rows(names: list[str], page: Path) -> list[list[str]]:
    """Return two rows for each named video: with the stored landmarks, and with those that Knuckle's page finds."""
    known = [line.strip("| \n").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]
    table_rows = []
    for video in [video for video in VIDEOS if video.name in names]:
        theirs = next(cells for cells in known if cells[0] == title(video))
        own = scored(video, page_landmarks(BUILD / video.name)).cells
        table_rows += [
            [f"{title(video)}, by the package for Python", *theirs[1:]],
            [f"{title(video)}, by the page", *own[1:]],
        ]
    return table_rows


def main() -> None:
    """Score every rendered video, or with --page the named ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--page", nargs="+", default=[], metavar="VIDEO")
    options = parser.parse_args()
    page = options.out / "explanation" / "camera.md"
    if options.page:
        fill(page, {"camera-page": table(HEAD, page_rows(options.page, page))})
        return
    found: dict[bool, list[Scored]] = {False: [], True: []}
    for video in VIDEOS:
        found[video.tunes].append(scored(video, landmarks(video)))
        print(" | ".join([*found[video.tunes][-1].cells, *found[video.tunes][-1].live_cells[1:]]), flush=True)
    parts = {"camera-test": found[False], "camera-tuned": found[True]}
    tables = {key: table(HEAD, [one.cells for one in [*part, mean("mean", part)]]) for key, part in parts.items()}
    tested, tuned = (
        mean("mean of these", found[False]),
        mean("mean of those that offsets, weights and corrections come from", found[True]),
    )
    live = [one.live_cells for one in [*found[False], tested, tuned]]
    fill(page, tables | {"camera-live": table(LIVE_HEAD, live)})
    for number in TEST_VIDEOS if options.keep else ():
        print(keep(VIDEOS[number]))


if __name__ == "__main__":
    main()
