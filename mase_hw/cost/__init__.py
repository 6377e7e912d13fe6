"""Formulas that predict what components take, one package per fabric.

A component's `cost()` calls them with plain values or with its plan of the hardware; they know no operator.
"""
