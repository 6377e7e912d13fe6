"""Mutation: a build's RTL changed in one place at a time, to see whether the benches and the prover notice."""
