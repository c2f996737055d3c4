"""Statistics of evaluation: functions from arrays to figures with intervals."""
