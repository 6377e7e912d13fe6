"""For every input: the emitted RTL, read back, equals the integer reference."""
