"""The chat models that agents can speak to."""
