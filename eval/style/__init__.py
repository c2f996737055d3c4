"""Recorded style judgements against what people said: labels, agreement, F1, who judges whom."""
