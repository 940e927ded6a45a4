"""The ladder of checks and the precision policy."""
