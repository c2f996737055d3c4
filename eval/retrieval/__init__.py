"""Measuring the quality of retrievers' choices, and the calibration of their scores."""
