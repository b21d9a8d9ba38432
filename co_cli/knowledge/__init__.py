"""Co's core: notes in plain markdown files, their rules, and nothing else."""
