"""The command `cprsim`: a file a subcommand; everything slow is imported inside them."""

from cprsim.cli.command import main

__all__ = ["main"]
