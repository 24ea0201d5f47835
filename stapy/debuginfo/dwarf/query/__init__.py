"""What is asked of one debug file: places, statements, labels, callees, variables."""
