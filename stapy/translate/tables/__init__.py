"""What the C refers to by number or name: limits, places, costs, regular expressions, lines."""
