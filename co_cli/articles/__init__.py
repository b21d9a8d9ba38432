"""Articles: what is fetched from the web or read from a file, on its way into a notebook."""
