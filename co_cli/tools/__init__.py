"""Tools an agent calls."""
