"""What the agents are told: Jinja templates, rendered from a request."""

from cutegen.prompts.rendering import RenderedPrompt, render

__all__ = ["RenderedPrompt", "render"]
