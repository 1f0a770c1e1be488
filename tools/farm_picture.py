"""Takes the picture of the farm's summary page in docs/pictures, from the last `make farm-demo`."""

from pathlib import Path

from knuckle.tests.gui.browser import opened

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "build" / "farm-demo" / "solved" / "summary.html"
SIZE = (1360, 900)


def main() -> None:
    """Take the picture."""
    with opened(PAGE.as_uri()) as page:
        page.wait_for("document.querySelector('.takes.sorts') !== null")
        page.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "light"}])
        page.picture(ROOT / "docs" / "pictures" / "farm.png", *SIZE)


if __name__ == "__main__":
    main()
