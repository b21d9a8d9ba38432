"""Notes from elsewhere: folders of markdown, JSON Lines, the old JSON layout."""
