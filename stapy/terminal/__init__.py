"""What goes to standard output (`writing`) and the line of progress on a terminal (`progress`)."""
