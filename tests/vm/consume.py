"""The program ``stapy-run`` as a script: in a guest, each import that is spared saves time."""

from stapy.run.cli import start

start()
