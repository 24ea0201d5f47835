"""``python3 -m stapy.run``, and ``python3 FOLDER`` for a bare copy of this folder."""

import sys

if not __package__:
    # A bare folder has no package name, which relative imports need: give it one.
    import importlib.util
    import os

    _folder = os.path.dirname(os.path.abspath(__file__))
    _spec = importlib.util.spec_from_file_location(
        "stapy_run",
        os.path.join(_folder, "__init__.py"),
        submodule_search_locations=[_folder],
    )
    assert _spec
    assert _spec.loader
    sys.modules["stapy_run"] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules["stapy_run"])
    __package__ = "stapy_run"

try:
    from .cli import main
except KeyboardInterrupt:  # Ctrl-C before there is anybody to hear it
    sys.exit(1)

if __name__ == "__main__":
    sys.exit(main())
