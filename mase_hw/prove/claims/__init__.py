"""What is claimed of a build: one file per claim."""
