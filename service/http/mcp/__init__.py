"""The Model Context Protocol, stateless: four tools over HTTP and over standard input."""
