"""Heat strips in tiles: at every zoom each bad frame is in a bar of its level or a worse one, and no bar is made up."""

import numpy as np
import pytest

from knuckle.pipeline.evidence.evidence import MEASURE_INDEX, MEASURES, PARTS, Evidence, HandEvidence
from knuckle.pipeline.evidence.heat import heat
from knuckle.pipeline.evidence.heat_tiles import PREDICTED, TILE_COLUMNS, HeatRows

FRAMES = 3 * TILE_COLUMNS + 17


def spotted(frames: int = FRAMES, sides: tuple[str, ...] = ("right", "left"), seed: int = 0) -> HeatRows:
    """A take of 100 Hz on frames 10 on of a scene of 25 fps, with spots of errors and of what was predicted."""
    rng = np.random.default_rng(seed)
    hands = []
    for side in sides:
        values = np.zeros((frames, len(PARTS), len(MEASURES)), np.float32)
        for _ in range(40):
            first, part = rng.integers(frames), rng.integers(len(PARTS))
            values[first : first + rng.integers(2, 30), part, MEASURE_INDEX["tip_error"]] = rng.uniform(3, 40)
        values[rng.random((frames, len(PARTS))) < 0.001, MEASURE_INDEX["predicted"]] = 0.5
        hands.append(HandEvidence(side, values))  # type: ignore[arg-type]
    return HeatRows(Evidence(np.arange(frames) / 100.0, tuple(hands)), (10.0, 10.0 + (frames - 1) / 4))


def painted(rows: HeatRows, zoom: int, together: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Level and predicted (F, R) at the key of each frame, as all tiles of a zoom paint them."""
    count, keys = 1 if together else len(rows.names), 10.0 + np.arange(FRAMES) / 4
    levels, guessed = np.zeros((FRAMES, count), int), np.zeros((FRAMES, count), bool)
    for number in rows.tiles(zoom, -1e9, 1e9):
        bars = rows.tile(zoom, number, together)
        for (left, top, right, bottom), kind in zip(bars.corners, bars.kinds, strict=True):
            inside, row = (keys >= left) & (keys < right), int(top)
            assert inside.any() and row <= top < bottom <= row + 1
            if kind == PREDICTED:
                guessed[inside, row] = True
            else:
                levels[inside, row] = np.maximum(levels[inside, row], kind)
    return levels, guessed


@pytest.mark.parametrize("zoom", [0, 1, 4, 13])
def test_columns_have_the_worst_of_their_frames_and_no_other(zoom: int) -> None:
    rows = spotted()
    hands = {hand.side: hand for hand in rows.evidence.hands}
    level = np.concatenate([heat(hands["left"]), heat(hands["right"])], axis=1)
    guess = np.concatenate([hands[side].of("predicted") > 0 for side in ("left", "right")], axis=1)
    levels, guessed = painted(rows, zoom)
    assert (levels >= level).all() and (guessed >= guess).all()
    if zoom == 0:
        assert (levels == level).all() and (guessed == guess).all()
    # A column is as bad as its worst frame: no farther than a column away there is one that is as bad.
    reach = 1 << zoom
    for row in range(level.shape[1]):
        for frame in np.flatnonzero(levels[:, row])[:: max(FRAMES // 50, 1)]:
            near = level[max(frame - reach, 0) : frame + reach + 1, row]
            assert near.max() == levels[frame, row]


def test_rows_together_have_the_worst_of_all() -> None:
    rows = spotted()
    assert (painted(rows, 0, together=True)[0][:, 0] == painted(rows, 0)[0].max(axis=1)).all()


def test_zoom_gives_each_column_a_pixel_at_least_and_a_window_few_tiles() -> None:
    rows = spotted()
    for width in (30.0, 500.0, 3000.0):
        for shown in (2.0, 100.0, FRAMES / 4):
            pixels = width / shown
            zoom = rows.zoom(pixels)
            assert 2**zoom * pixels / 4 >= 0.999 or zoom == 13, "scene frames are four frames of the take"
            assert zoom == 0 or 2**zoom * pixels / 4 < 2.001, "no coarser than needed"
            assert len(rows.tiles(zoom, 700.0, 700.0 + shown)) <= 3


def test_rows_are_named_and_a_take_of_one_frame_has_its_bar() -> None:
    assert spotted().names[:2] == ("L Thumb", "L Index")
    assert spotted(sides=("right",)).names == ("Thumb", "Index", "Middle", "Ring", "Little", "Palm")
    values = np.zeros((1, len(PARTS), len(MEASURES)), np.float32)
    values[0, 2, MEASURE_INDEX["label_doubt"]] = 1.0
    lone = HeatRows(Evidence(np.zeros(1), (HandEvidence("left", values),)), (5.0, 5.0))
    bars = lone.tile(lone.zoom(3.0), 0)
    assert bars.corners[:, [0, 2]].tolist() == [[4.5, 5.5]] and bars.kinds.tolist() == [4]
