"""The commands behind the words after `co`."""
