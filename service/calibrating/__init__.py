"""Calibration for one person: theta (revise below it), margin and k (documents to show), chosen on their past texts."""
