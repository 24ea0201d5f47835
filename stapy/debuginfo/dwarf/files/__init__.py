"""Where debug files are: installed, beside the binary, shared by several, on a server."""
