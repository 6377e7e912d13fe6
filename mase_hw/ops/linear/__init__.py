"""linear: a constant matrix times a vector, in every implementation."""
