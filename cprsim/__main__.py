"""`python -m cprsim` is the command `cprsim`."""

from cprsim.cli import main

if __name__ == "__main__":
    main()
