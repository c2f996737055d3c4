"""The service's interfaces over HTTP: the application, its API, the page, and the Model Context Protocol."""
