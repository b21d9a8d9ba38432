"""Co: an assistant for the terminal that remembers."""
