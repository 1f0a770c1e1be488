"""The web page that finds hands in a camera's pictures or in a video: data/camera, and the packages that it needs.

The models are those of the npm package @mediapipe/hands; mediabunny reads video files. The extension's zip contains
them in data/camera/assets; in a checkout, tools/camera_assets.py puts them into build/camera.
"""

from collections.abc import Mapping
from pathlib import Path

from ...errors import StreamError
from ..network.site import ServedSite, SiteFile

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "data" / "camera"
ASSETS = (PAGE / "assets", ROOT / "build" / "camera")
"""Folders that may contain the third-party files."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "worker-src 'self'",
        "connect-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "media-src 'self' blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
"""Content-Security-Policy: the page may request only files that are served with it."""
JOB = "job.json"
"""File with a task that the page starts by itself: {"video": name, "size": bytes}, or {} for none."""
VIDEO = "video"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".wasm": "application/wasm",
    ".svg": "image/svg+xml",
}


def site(folder: str = "/", job: Mapping[str, SiteFile] | None = None) -> ServedSite:
    """Return the page with its files. Raises StreamError if the models are missing.

    folder: path under which the files are served. job: further files, see JOB and VIDEO.
    """
    assets = next((path for path in ASSETS if path.is_dir()), None)
    if assets is None:
        raise StreamError(
            "the camera page lacks its models: in a checkout run `python tools/camera_assets.py`, which fetches them "
            "by npm, or install the extension's zip, which has them"
        )
    paths = [path for parent in (assets, PAGE) for path in sorted(parent.iterdir()) if path.is_file()]
    files = {path.name: SiteFile(_KINDS.get(path.suffix, "application/octet-stream"), path) for path in paths}
    files[""] = files.pop("index.html")
    files[JOB] = SiteFile("application/json", b"{}")
    return ServedSite(files | dict(job or {}), "in a browser with a camera", POLICY, folder)
