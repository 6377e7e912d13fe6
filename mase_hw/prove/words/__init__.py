"""Exact integers that are affine in the inputs, and the netlist run on them."""
