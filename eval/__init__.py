"""Evaluation of retrievers, drafts and judges: metrics, calibration, agreement, quality, forensics, reports."""
