"""A package with an operator of its own, `abs`. Importing it registers the operator."""

from toy import operator as _operator  # noqa: F401
