"""Closed forms: what a policy costs on paper, as pure functions of floats.

Every duration is in seconds and says so in its name. An MTBF of `math.inf` means that nothing
ever fails; an interval of `math.inf` means that nothing is ever saved. Each docstring says
whether its form is exact or first order, and for which model. `scipy` is imported inside
the functions that need it, because it costs a second.

- `intervals`: how often to save (Young, exact, CPR's PLS form)
- `makespan`: exact wall times under exponential failures, blocking saves and full recovery
- `cpr`, `pls`: the portion of lost samples, by the CPR paper and exactly
- `attempts`: saves and loads that fail
- `redundancy`: waits for spares
- `stall`, `incremental`, `experts`, `ecrec`: what CheckFreq, Check-N-Run, partial experts and ECRec
  are made of

Here is what the package computes with. Forms that it is only checked against stand in
`tools/validation` and beside the tests that ask them.
"""
