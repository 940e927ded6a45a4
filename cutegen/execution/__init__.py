"""Executors: where candidates are built, judged and timed.

The worker process imports this package, so nothing heavy may be imported here.
"""
