"""What Blender's importers say of a file that they refuse is reported in a few words."""

from knuckle.rig.importer_reasons import MAX_CHARACTERS, importer_reason

TRACEBACK = """Error: Python: Traceback (most recent call last):
  File "draco_compression_extension.py", line 19, in decode_primitive
    dll = cdll.LoadLibrary(str(dll_path('bf_intern_draco_bridge', 'Draco').resolve()))
OSError: libbf_intern_draco_bridge.so: cannot open shared object file
Location: /ops.py:109
"""


def test_a_report_and_the_exception_of_a_traceback_are_reasons():
    reported = importer_reason("Error: Extension EXT_meshopt_compression is not available on this addon version\n")
    assert reported == " (Extension EXT_meshopt_compression is not available on this addon version)"
    assert importer_reason(TRACEBACK) == " (OSError: libbf_intern_draco_bridge.so: cannot open shared object file)"
    assert importer_reason("") == importer_reason("Location: /ops.py:109") == ""
    assert len(importer_reason("x" * 5000)) == MAX_CHARACTERS + 3
