"""What a lowered program is: what has no effect, which types there are, what is wrong."""
