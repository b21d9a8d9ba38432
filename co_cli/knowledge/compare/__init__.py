"""What one text is to another: the same words, the same fact, an update, or neither.

Belongs here: comparing texts and notes. Not here: finding notes for a question, or changing any.
"""
