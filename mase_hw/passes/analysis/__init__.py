"""Passes that learn about a graph and leave it as it is."""
