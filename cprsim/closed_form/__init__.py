"""Closed forms: what a policy costs on paper, as pure functions of floats.

Every duration is in seconds and says so in its name. An MTBF of `math.inf` means that nothing
ever fails; an interval of `math.inf` means that nothing is ever saved. Each docstring says
whether its form is exact or first order, and for which model; the simulator is tested against
the exact ones. `scipy` is imported inside the functions that need it, because it costs a second.

- `intervals`: how often to save (Young, Daly, exact, CPR's PLS form)
- `cpr`: the CPR paper's first-order overheads and its portion of lost samples (PLS)
- `makespan`: exact wall times under exponential failures
- `renewal`: exact long-run goodput under any failure law
- `prediction`: failures that are announced
- `allocations`: jobs that hold their nodes for so long at a stretch
- `withdrawn`: servers that are taken for a while, and what the job does meanwhile
- `verified`: silent faults, found by verifying before saves
- `ettr`: Meta's effective training time ratio
"""
