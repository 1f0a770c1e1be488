"""Loads the checkout as the package `knuckle`, whatever its folder is called."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

ROOT = Path(__file__).parents[1]

if "knuckle" not in sys.modules:
    spec = spec_from_file_location("knuckle", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)])
    assert spec and spec.loader
    sys.modules["knuckle"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["knuckle"])
