"""Windows of frames: an invariant of their counters, whatever the size of the frame."""
