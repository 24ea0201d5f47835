"""Decoders of what distributions pack images and modules with."""
