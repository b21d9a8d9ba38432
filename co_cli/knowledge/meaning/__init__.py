"""What a text means, as a vector: the words cut into pieces, and two encoders of one space."""
