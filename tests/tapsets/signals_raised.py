"""What `signals_raised.stp` traces: calls at which it raises signals."""

import os
import signal
import time

# There the signal may come a little later.
patience = 0.5 if "PREEMPT_RT" in os.uname().version else 0
handled = []
signal.signal(signal.SIGUSR1, lambda *rest: handled.append(1))
for _ in range(3):
    os.getpriority(0, 0)
    time.sleep(patience)
print("handled", len(handled), flush=True)
os.sched_yield()
time.sleep(patience)
print("WRONG")
