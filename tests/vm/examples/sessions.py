"""Many sessions at the same time, in a guest: forks of one process that has imported ``stapy-run``.

Words: a folder with a file ``NAME.words`` for each; ``NAME.out``, ``NAME.err`` and ``NAME.status``
are written there.
"""

import os
import sys

sys.path[0] = "/run/stapy/tools/python"  # see tests/vm/consume.py

from stapy.run.cli import main  # noqa: E402

folder = sys.argv[1]
running = {}
for file in sorted(os.listdir(folder)):  # noqa: PTH208
    name, _, suffix = file.rpartition(".")
    if suffix != "words":
        continue
    process = os.fork()
    if process:
        running[process] = name
        continue
    os.setsid()
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    for number, ending in (1, "out"), (2, "err"):
        made = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(f"{folder}/{name}.{ending}", made), number)
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    with open(f"{folder}/{file}") as words:  # noqa: PTH123
        sys.exit(main(words.read().split("\0")))
while running:
    process, status = os.wait()
    if process in running:
        with open(f"{folder}/{running.pop(process)}.status", "w") as told:  # noqa: PTH123
            told.write(str(os.waitstatus_to_exitcode(status)))
