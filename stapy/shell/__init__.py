"""``stapy -i``: a script is built line by line and run, again and again."""
