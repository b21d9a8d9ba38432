"""Notes from elsewhere: a module per format, and `collect`, which knows them all."""
