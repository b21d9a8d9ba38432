"""One note as a file: its header, its text, and how either is changed."""
