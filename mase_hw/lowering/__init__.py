"""From layers to a design: what may be chosen, the choice, and the components it becomes."""
