"""What is worth remembering in what a person says."""
