"""What may be stored and what may be shown: secrets, hidden text, and escaping."""
