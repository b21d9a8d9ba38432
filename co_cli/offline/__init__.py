"""The chat without a model: what is typed is looked up or kept, in the person's own words."""
