"""A conversation at the terminal: its turns, how it is shown, how it is kept."""
