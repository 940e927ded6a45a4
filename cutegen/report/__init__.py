"""Rendering of one event stream, for the terminal and elsewhere."""
