"""Offline: partition, requests, auxiliary scoring, selection, losses, fitting, threshold."""
