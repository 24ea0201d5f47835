"""C as text: literals and comments, the writer, names, operators and the values between them."""
