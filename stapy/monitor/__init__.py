"""The terminal screen of --monitor: a program of its own, which the consumer starts and feeds."""
