"""Passes that change a graph."""
