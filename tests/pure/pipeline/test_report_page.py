"""The report page: what is hostile in a file stays text, no bad frame is lost, and its size is bounded."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knuckle.hand import proportions
from knuckle.hand.kinematics import Pose
from knuckle.pipeline.evidence.angle_curves import MAX_COLUMNS, AngleCurves, pack_angles, unpack_angles
from knuckle.pipeline.evidence.columns import column_starts, highest, lowest
from knuckle.pipeline.evidence.conditions import outcomes, parse_conditions
from knuckle.pipeline.evidence.evidence import MEASURE_INDEX, MEASURES, PARTS, Evidence, HandEvidence
from knuckle.pipeline.report_page.content import Marks, Pictures, ProblemPicture, ReviewedTake
from knuckle.pipeline.report_page.page import ASSETS, page
from knuckle.pipeline.report_page.time_axis import UNITS, TimeAxis

RATE = 100.0
HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked=1'>\"'&\u202e\x00"
RING = PARTS.index("ring-finger")


def made_take(frames=500, sides=("right",), *, start=0.0, name="take", text="take.c3d", worst=30.0, seed=0):
    """A calm take in which the ring fingertip is off in a few frames in the middle."""
    rng = np.random.default_rng(seed)
    hands, angles = [], []
    for side in sides:
        values = np.zeros((frames, len(PARTS), len(MEASURES)), np.float32)
        values[..., MEASURE_INDEX["tip_error"]] = rng.uniform(0.1, 1.0, (frames, len(PARTS)))
        values[frames // 2 : frames // 2 + 2, RING, MEASURE_INDEX["tip_error"]] = worst
        values[: frames // 10, 0, MEASURE_INDEX["predicted"]] = 0.5
        values[:, PARTS.index("palm"), MEASURE_INDEX["tip_error"]] = np.nan
        hands.append(HandEvidence(side, values))
        hand = proportions.build(proportions.adult(side))
        swing = np.sin(np.linspace(0, 60, frames))[:, None] * hand.limits[:, 1]
        angles.append(AngleCurves.of(Pose.at_origin(hand, swing)))
    report = {
        "capture": text,
        "solver": text,
        "smoothing": text,
        "format": text,
        "marker_set": {"name": text},
        "warnings": [text],
        "recipe": {"capture": text, text: text},
        "versions": {text: text},
        "seconds": {text: text},
        "hands": {side: {"fingers": {}, "hand_length_mm": text} for side in sides},
    }
    times = start + np.arange(frames) / RATE
    return ReviewedTake(name, report, Evidence(times, tuple(hands)), tuple(angles), (1.0, float(frames)))


class Parsed(HTMLParser):
    """The elements of a page with their attributes, and its texts."""

    def __init__(self, content):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(content)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def test_what_is_hostile_in_a_file_stays_text():
    picture = ProblemPicture(0, HOSTILE, b"jpeg", 4, 3)
    hostile = replace(made_take(name=HOSTILE, text=HOSTILE), marks=Marks({0: (HOSTILE,)}, corrections=1))
    content = page([hostile, made_take(name=HOSTILE, text=HOSTILE)], Pictures((picture,), HOSTILE))
    parsed = Parsed(content)
    assert len(parsed.all("script")) == 1
    assert (ASSETS / "page.js").read_text(encoding="utf-8") in parsed.texts
    assert [image["src"][:23] for image in parsed.all("img")] == ["data:image/jpeg;base64,"]
    assert not [name for _, attributes in parsed.elements for name in attributes if name.startswith("on")]
    assert not [attributes for _, attributes in parsed.elements if "style" in attributes], "the policy forbids these"
    reported = HOSTILE.replace("\u202e", "\ufffd").replace("\x00", "\ufffd")
    assert sum(reported in text for text in parsed.texts) >= 10
    assert "\x00" not in content and "\u202e" not in content


def test_the_policy_names_the_only_style_and_script_and_no_host():
    parsed = Parsed(page([made_take()]))
    policy = next(meta["content"] for meta in parsed.all("meta") if meta.get("http-equiv"))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "http" not in policy and "unsafe" not in policy
    loads = [value for _, attributes in parsed.elements for key, value in attributes.items() if key in ("src", "href")]
    assert loads == []


@pytest.mark.parametrize("damage", [None, 3, "x", [], {"a": 1}])
def test_a_report_with_anything_in_it_makes_a_page(damage):
    take = made_take(20)
    for key in take.report:
        report = {**take.report, key: damage}
        Parsed(page([ReviewedTake("x", report, take.evidence, take.angles, take.frames)]))
    Parsed(page([ReviewedTake("x", {}, take.evidence, (), take.frames)]))


def test_a_page_of_two_long_takes_of_two_hands_is_small_and_shows_a_single_bad_frame():
    frames = 100_000
    takes = [made_take(frames, ("left", "right"), seed=seed) for seed in (0, 1)]
    takes[0].evidence.hands[1].values[frames // 2 + 1, RING, MEASURE_INDEX["tip_error"]] = 44.0
    content = page(takes)
    assert len(content.encode()) < 2e6
    right = content[content.index("<h3>Right hand</h3>", content.index("Fingertip error")) :]
    ring = re.search(r'data-low="(\S+)" data-high="(\S+)" [^>]*><figcaption><span>Ring.*?<path d="([^"]+)"', right)
    assert ring is not None
    low, high = float(ring[1]), float(ring[2])
    across, down = places(ring[3])
    top = np.argmin(down)
    assert high - down[top] / 1000 * (high - low) == pytest.approx(44.0, abs=0.05)
    assert across[top] / UNITS == pytest.approx(0.5, abs=2 / MAX_COLUMNS)


def places(path):
    """The absolute places (2, N) of a path of one run."""
    numbers = np.array([int(number) for number in re.findall(r"-?\d+", path)]).reshape(-1, 2)
    return np.cumsum(numbers, axis=0).T


@pytest.mark.parametrize("frames", [1, 2, 7, 600, 601, 5000])
def test_columns_keep_the_extremes_of_their_frames(frames):
    values = np.random.default_rng(frames).normal(size=(frames, 3))
    values[::5] = np.nan
    starts = column_starts(frames, 600)
    bounds = [*starts.tolist(), frames]
    assert bounds[0] == 0 and (np.diff(bounds) >= 1).all() and len(starts) == min(frames, 600)
    for column, (first, stop) in enumerate(pairwise(bounds)):
        part = values[first:stop]
        known = part[np.isfinite(part).all(axis=1)]
        if len(known):
            assert (highest(values, starts)[column] == known.max(axis=0)).all()
            assert (lowest(values, starts)[column] == known.min(axis=0)).all()
        else:
            assert np.isnan(highest(values, starts)[column]).all()


def test_angles_are_kept_as_bytes_to_half_precision():
    curves = made_take(5000, ("left", "right")).angles
    kept = unpack_angles(pack_angles(curves))
    for before, after in zip(curves, kept, strict=True):
        assert (before.side, before.names) == (after.side, after.names)
        assert after.low == pytest.approx(before.low, abs=0.06)
        assert after.high == pytest.approx(before.high, abs=0.06)
    assert unpack_angles(pack_angles(())) == ()


@given(st.data())
def test_damaged_angles_are_none_or_finite(data):
    whole = bytearray(PACKED)
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    for curves in unpack_angles(bytes(whole[: data.draw(st.integers(0, len(whole)))])):
        assert curves.low.shape == (len(curves.low), len(curves.names))
        assert not np.isinf(curves.low).any()


PACKED = pack_angles(made_take(20).angles)


def test_takes_of_one_capture_lie_where_they_do_on_its_clock():
    early, late = made_take(200, start=5.0), made_take(200, start=6.0)
    axis = TimeAxis.of((early, late))
    assert axis.length == pytest.approx(3.0)
    assert axis.share(1, 0) == pytest.approx(1 / 3)
    origin, length = axis.frame_scale()
    assert origin + length * axis.share(0, 150) == pytest.approx(early.frame(150)) == pytest.approx(151)
    other = TimeAxis.of((early, made_take(200, start=6.0, text="other.c3d")))
    assert other.share(1, 0) == 0.0


def test_what_one_take_has_and_the_other_has_not_is_reported():
    content = page([made_take(), made_take(worst=0.5)])
    assert "only in A" in content and "also in" not in content
    assert "also in B" in page([made_take(), made_take()])


def test_the_conditions_that_fail_are_reported():
    take = made_take()
    asked = outcomes(parse_conditions("tip_error_mm.max>3,leaps>0"), take.evidence, take.problems)
    texts = "".join(Parsed(page([take], outcomes=asked)).texts)
    assert "Fails: tip_error_mm.max>3 (it is 30)" in texts and "Passes: leaps>0 (it is 0)" in texts


def colours(css, scheme):
    """The variables of a scheme."""
    block = re.search(
        r"^:root \{(.*?)^\}" if scheme == "light" else r"scheme: dark\) \{\s*:root \{(.*?)\}",
        css,
        re.DOTALL | re.MULTILINE,
    )
    assert block is not None
    return dict(re.findall(r"--(\w+): #(\w{6})", block[1]))


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (int(colour[k : k + 2], 16) / 255 for k in (0, 2, 4))
    ]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colors_have_the_contrast_that_wcag_asks(scheme):
    """4.5 for text, 3 for what is drawn (WCAG 2.2, 1.4.3 and 1.4.11)."""
    found = colours((ASSETS / "page.css").read_text(encoding="utf-8"), scheme)
    for ground in ("ground", "raised"):
        for name, least in (
            *((text, 4.5) for text in ("text", "quiet", "accent")),
            *((drawn, 3.0) for drawn in ("level2", "level3", "level4", "predicted", "take0", "take1", "good")),
        ):
            light, dark = sorted((luminance(found[name]), luminance(found[ground])), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= least, f"{name} on {ground}"
