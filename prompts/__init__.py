"""What the agents are told."""
