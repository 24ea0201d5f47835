"""``python -m stapy`` is the ``stapy`` command."""

import sys


def main() -> int:
    """Run the command; return its exit status.

    Ctrl-C ends it without a word, also while it is still being loaded.
    """
    try:
        from stapy.cli import main as obey
    except KeyboardInterrupt:
        return 1
    return obey()


if __name__ == "__main__":
    sys.exit(main())
