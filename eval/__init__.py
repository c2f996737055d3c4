"""Metrics, calibration, judges, agreement, writing quality, forensics, reports."""
