"""Where models and embedders come from, and what to say when they do not answer."""
