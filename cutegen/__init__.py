"""The instrument: everything that touches a kernel."""
