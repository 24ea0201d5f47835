"""From syntax to a program of resolved names: the worklist and the lowering of bodies."""
