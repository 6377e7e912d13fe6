"""Folded layers by an invariant: the cost does not grow with the states of their control."""
