"""The questions of the facade, a file for each subject: sources are asked from the cheapest on."""
