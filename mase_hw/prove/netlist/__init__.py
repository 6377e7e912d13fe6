"""The emitted RTL as Yosys reads it, and what each of its cells does."""
