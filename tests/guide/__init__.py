"""The guide in ``docs/``: what its pages show is run."""
