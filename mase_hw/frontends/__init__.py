"""Models that come from other tools, read from their files into layers and types. No torch is imported here."""
