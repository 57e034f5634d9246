"""The command `cprsim`: a file a subcommand; everything slow is imported inside them."""

import sys


def main() -> None:
    """Entry point: exit 0 when done, 1 when the run failed, 2 when the input is wrong."""
    from cprsim.cli import process

    process.open_streams()
    process.heed_interrupts()
    try:
        from cprsim.cli import command  # which takes a moment

        code = command._main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write("cprsim: interrupted\n")
        code = 1
    process.heed_no_more()
    sys.exit(code)
