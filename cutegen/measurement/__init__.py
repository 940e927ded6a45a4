"""Timing, baselines, roofline and profiles."""
