"""Training of retrievers, reward models and chat models: data, gains, losses, fitting, threshold."""
