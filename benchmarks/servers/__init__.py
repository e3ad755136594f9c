"""Servers that the contestants talk to: each a program of its own, fast enough not to be what is measured."""
