"""Random networks from TOML to certificate: drawn by Hypothesis, built, simulated, proved, shrunk where they fail."""
