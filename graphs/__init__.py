"""How the agents are wired."""
