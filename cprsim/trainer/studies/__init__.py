"""The effect of failures on accuracy: runs of the real trainer that differ in one thing, and tests.

`design` says which runs, `play` has them done and keeps each; `paired` compares policies seed by
seed, `slope` says how accuracy falls with the portion of lost samples, `predictors` which measure
foretells that; `findings` puts that together, and `outputs` writes it down.
"""
