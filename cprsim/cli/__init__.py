"""The command `cprsim`: a file a subcommand; everything slow is imported inside them."""

import sys


def main() -> None:
    """Entry point: exit 0 when done, 1 when the run failed, 2 when the input is wrong."""
    from cprsim.cli import process

    process.open_streams()
    interrupts = process.Interrupts()
    try:
        interrupts.heed()
        from cprsim.cli import command  # which takes a moment

        code = command._main(sys.argv[1:])
        interrupts.over = True
    except BaseException as error:
        interrupts.over = True
        # Whoever was called may have made something else of it.
        if not isinstance(error, KeyboardInterrupt) and not interrupts.came:
            raise
        sys.stderr.write("cprsim: interrupted\n")
        code = 1
    sys.exit(code)
