"""What can be wrong with a function, with the arguments of a call, and with what a function returned."""

from __future__ import annotations


class SignatureError(TypeError):
    """A function that cannot be offered as it is. The message names the function and the parameter."""


class InvalidArguments(ValueError):
    """Arguments that do not fit the function. The message is for whoever sent them, person or model."""


class UnusableResult(ValueError):
    """A function returned what it did not promise, or what has no JSON form."""
