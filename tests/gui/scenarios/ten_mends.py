"""The ten worst places of a take, which Next Problem alone finds, mended as docs/tutorials/mend-a-take.md says.

Then two contacts are held, the take is solved again by another solver, and its keys are reduced. Asked for with the
name of a recording beside the pictures; the files as they were solved again and reduced are left there.
"""

import importlib
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import bpy

sys.path.append("/tmp/knuckle/tests/gui")
if TYPE_CHECKING:
    from knuckle.tests.gui import mending, walking
    from knuckle.tests.gui.driver import Screen, Steps
    from knuckle.tests.gui.walking import Walk
else:
    mending, walking = (importlib.import_module(name) for name in ("mending", "walking"))
    Walk = walking.Walk

Actions = Generator[float, None, Any]

PLACES = 10
MAX_MENDS = 4
"""Of one place: several markers may be astray at once."""
LISTED = 12
"""The corrections that the panel lists at a time."""
CONTACTS = {"mediapipe_video.json": {255: "R  Thumb on index", 373: "R  Thumb on little"}}
"""Recording -> frame -> the row of a contact that the solve found; else the thumb is held on two fingers."""
CHOSEN = {46: (), 146: ("Index", "Middle")}
"""Frame -> what is pressed in Hold Contact's dialogue, which offers the thumb on the index finger."""


def play(screen: "Screen") -> "Steps":
    (recording,) = screen.arguments
    page = f"ten_mends_{Path(recording).suffix[1:]}"
    yield from mending.opened(screen, recording)
    walk = Walk(screen, page, 0)
    yield from walking.dropped(screen, walk, recording)
    yield from walking.solved(screen, walk)
    yield from mending.to_hand(screen)
    yield from walking.scrolled(screen, 10)
    yield from panels(screen, walk, "Review", "Corrections")
    places = list[dict[str, Any]]()
    while len(places) < PLACES and left(screen):
        places.append((yield from mended(screen, page, len(places) + 1)))
    held = yield from contacts(screen, Walk(screen, page, PLACES + 1), recording)
    before = mending.states(screen)
    yield from again(screen, Walk(screen, page, PLACES + 2))
    after, beyond = mending.states(screen), (yield from next_place(screen, page))
    save(page, "solved")
    counts = yield from reduced(screen, Walk(screen, page, PLACES + 4))
    save(page, "reduced")
    reports = yield from screen.reports()
    return {
        "places": places,
        "held": held,
        "before": before,
        "after": after,
        "beyond": beyond,
        "counts": counts,
        "reduced": mending.states(screen),
        "reports": reports,
    }


def panels(screen: "Screen", walk: Walk, first: str, *others: str) -> Actions:
    """Open these and fold the others."""
    yield from mending.alone(screen, walk, first)
    for title in others:
        yield from walk.press(title, within=mending.titles(screen))


def left(screen: "Screen") -> list[str]:
    """The keys of the problems that are neither mended nor seen."""
    with screen.in_view():
        problems = mending.module("operators.review").remaining_problems(bpy.context, walking.armature(screen))
    return [problem.key for problem in problems]


def mended(screen: "Screen", page: str, number: int) -> Actions:
    """Go to the next problem, and mend what the box says until nothing is left of it."""
    walk = Walk(screen, page, number)
    yield from mending.next_problem(screen, walk)
    found, tried = mending.place(screen), list[str]()
    shown = screen.scene.knuckle_review.current
    while shown in left(screen):
        assert len(tried) < MAX_MENDS, f"{found['reason']}: {tried} have not mended it"
        name, mend = suited(mending.place(screen), number)
        yield from mend(screen, Walk(screen, page, number), len(mending.kept(screen)) + 1)
        tried.append(name)
        shown = screen.scene.knuckle_review.current
    walk.picture(*walking.area_box(screen))
    return {**found, "mends": tried}


def posed(screen: "Screen", walk: Walk, count: int) -> Actions:
    yield from mending.turned(screen, walk, -15)
    yield from walk.press("Correct Pose", within=mending.sidebar(screen))
    yield from screen.wait_until(lambda: len(mending.kept(screen)) == count)
    yield 0.5


def snapped(screen: "Screen", walk: Walk, count: int) -> Actions:
    yield from walk.press("Snap to Pose", within=mending.sidebar(screen))
    yield from mending.agreed(screen, walk, count)


def solved_otherwise(screen: "Screen", walk: Walk, count: int) -> Actions:
    yield from walk.press("Solve Range With", within=mending.sidebar(screen))
    # The dialogue keeps what was chosen in it last.
    if bpy.context.window_manager.operator_properties_last("knuckle.solve_range").solver != "whole-hand":
        for text in ("FABRIK", "Whole Hand"):
            yield from walk.press(text)
    yield from mending.agreed(screen, walk, count)


def hidden(screen: "Screen", walk: Walk, count: int) -> Actions:
    yield from walk.press("Hide Marker", within=mending.sidebar(screen))
    yield from mending.agreed(screen, walk, count)


GUESSES: tuple[tuple[str, Callable[["Screen", Walk, int], Actions]], ...] = (
    ("Correct Pose", posed),
    ("Solve Range With", solved_otherwise),
    ("Snap to Pose", snapped),
)
"""What mends places in which markers were not seen, in turn."""


def suited(place: dict[str, Any], number: int) -> tuple[str, Callable[["Screen", Walk, int], Actions]]:
    """What mends a problem, by the page's table."""
    reason = place["reason"]
    if "not seen" in reason:
        return GUESSES[(number - 1) % len(GUESSES)]
    if "leapt" in reason or ("off" in reason and "limit" not in reason):
        return "Hide Marker", hidden
    return "Correct Pose", posed


def contacts(screen: "Screen", walk: Walk, recording: str) -> Actions:
    """Two of the performer's contacts, each by a click on its row; where none was found, by the dialogue."""
    before = set(mending.states(screen))
    yield from panels(screen, walk, "Corrections")
    chosen, found = CHOSEN, CONTACTS.get(recording)
    if found is None:
        yield from walk.typed("Reach", ("45", "34"))
    for number, (frame, asked) in enumerate((found or chosen).items(), len(before) + 1):
        screen.scene.frame_set(frame)
        # The list is of the contacts near this frame once the sidebar is drawn anew.
        screen.move(*screen.middle(screen.region(screen.area(), "UI")))
        yield 0.7
        walk = Walk(screen, walk.page, walk.number)
        if isinstance(asked, str):
            yield from walk.press(asked, within=mending.sidebar(screen))
            yield from screen.wait_until(lambda n=number: len(mending.kept(screen)) == n and not walking.running(), 60)
        else:
            yield from walk.press("Hold Contact", within=mending.sidebar(screen))
            for text in asked:
                yield from walk.press(text)
            yield from mending.agreed(screen, walk, number)
    screen.move(*screen.view_middle())
    yield 1.0
    walk.picture(*walking.area_box(screen))
    # Rows of long names are drawn, too.
    for span in mending.spans(screen)[-LISTED:]:
        yield from walk.look(span, within=mending.sidebar(screen))
    return sorted(set(mending.states(screen)) - before)


def again(screen: "Screen", walk: Walk) -> Actions:
    """The whole take by another solver."""
    yield from panels(screen, walk, "Solve")
    yield from walk.press("Fast")
    yield from walk.press("Advanced...")
    yield from walk.press("FABRIK")
    yield from walk.press("CGA")
    yield from walking.solved(screen, walk)
    yield from panels(screen, walk, "Review", "Corrections")
    walk.picture(*walking.area_box(screen))


def next_place(screen: "Screen", page: str) -> Actions:
    """What Next Problem comes to after the new solve; nothing where all is mended."""
    walk = Walk(screen, page, PLACES + 3)
    if not left(screen):
        return None
    yield from mending.next_problem(screen, walk)
    walk.picture(*walking.area_box(screen))
    found = mending.place(screen)
    yield from panels(screen, walk, "Corrections")
    screen.move(*screen.view_middle())
    yield 0.7
    screen.picture(f"{page}_{PLACES + 3}_corrections")
    return found


def reduced(screen: "Screen", walk: Walk) -> Actions:
    """How many keys there were and are."""
    # Below the list of corrections, and in sight once that is folded.
    for title in ("Review", "Keys"):
        yield from panels(screen, walk, title)
    dense = mending.keys(screen)
    yield from walk.press("Reduce Keys", within=mending.sidebar(screen))
    yield from screen.wait_until(lambda: mending.keys(screen) < dense and not walking.running(), 120)
    screen.move(*screen.view_middle())
    yield 1.0
    walk.picture(*walking.area_box(screen))
    return [dense, mending.keys(screen)]


def save(page: str, stage: str) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=f"/tmp/out/{page}_{stage}.blend", copy=True)
