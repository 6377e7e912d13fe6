"""The control of a component as a finite automaton, and what its registers hold in each state."""
