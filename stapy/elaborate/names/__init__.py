"""What words mean: the declarations that take part, spellings of points, levels of privilege."""
