"""Co's memory for other agents and editors, over the Model Context Protocol. Needs the extra."""
