"""What programs and libraries are, and what their files know."""
