"""How notes are found: a question taken apart, the index, the ranking, and the last resort."""
