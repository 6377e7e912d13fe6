"""Reductions over windows and frames: what is known after so many taps or positions, whatever their number."""
