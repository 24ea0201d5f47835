"""What editors ask of a script that is being written: the answers, and the language server."""
