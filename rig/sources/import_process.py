"""The program of the Blender that imports a capture's file: `import_process.py FILE RESULT ANIMATION`.

Knuckle runs it in a separate process (`imported_file.py`), so the user's file does not change, and a file that crashes
an importer ends only that process. The program writes a recording, or a sentence that says why it has none.
"""

import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGE = "knuckle"
ROOT = Path(__file__).resolve().parents[2]


def load_package() -> None:
    """Load this checkout or installed extension as a package, without enabling the extension."""
    spec = spec_from_file_location(PACKAGE, ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
    assert spec is not None and spec.loader is not None
    sys.modules[PACKAGE] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules[PACKAGE])


def main(file: str, result_file: str, animation: str) -> None:
    """Import a file and write the motion of its hands to another. animation: see `import_recording`."""
    path, result = Path(file), Path(result_file)
    load_package()
    from knuckle.errors import KnuckleError
    from knuckle.hand.generators import run_to_end
    from knuckle.rig.sources.importing import import_recording
    from knuckle.rig.sources.recording_file import write_problem, write_recording

    try:
        recording = run_to_end(import_recording(path, animation))
    except KnuckleError as problem:
        write_problem(result, str(problem))
    else:
        write_recording(result, recording)


if __name__ == "__main__":
    main(*sys.argv[-3:])
    sys.stdout.flush()
    # Blender's module may hang when Python exits.
    os._exit(0)
