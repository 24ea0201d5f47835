"""``stapy test``: scripts are run, and what they print is compared with what a file expects."""
