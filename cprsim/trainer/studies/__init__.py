"""The effect of failures on accuracy: runs of the real trainer that differ in one thing, and tests.

`design` says which runs, `play` has them done and `store` keeps each; `paired` compares policies
seed by seed, `slope` says how accuracy falls with the portion of lost samples, `findings` puts that
together.
"""
