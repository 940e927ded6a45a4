"""The rungs of the ladder, one module each; ``climb`` holds what they share."""
