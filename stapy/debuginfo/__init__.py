"""What binaries know about one kernel and its modules; `facade.py` answers the questions."""
