"""The page at ``/``, for people; programs use the API."""
