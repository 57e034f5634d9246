"""`python -m cprsim.cli`."""

from cprsim.cli import main

main()
