"""Every way in: the application, its API, the page, and the Model Context Protocol."""
