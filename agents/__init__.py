"""Who decides: one module per agent."""
