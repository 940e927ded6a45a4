"""Executors: where candidates are built, judged and timed."""
