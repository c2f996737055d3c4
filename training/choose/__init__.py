"""Choices on the dev split: the criterion by which a fit is chosen, its lead over baselines, margin and theta."""
