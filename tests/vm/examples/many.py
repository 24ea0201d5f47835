"""Many processes, one after the other: each makes a file, sleeps for a moment and ends."""

import os
import time

for number in range(120):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    os.close(os.open(f"/dev/shm/many{number}", os.O_CREAT | os.O_WRONLY))
    time.sleep(0.002)
    os._exit(0)
for number in range(120):
    os.unlink(f"/dev/shm/many{number}")  # noqa: PTH108
