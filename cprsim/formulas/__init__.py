"""Published formulas: floats in, floats out.

What a plan should cost to first order is read off it by `cprsim.contract.expected`. Every duration
is in seconds and says so in its name. An MTBF of `math.inf` means that nothing ever fails; an
interval of `math.inf` means that nothing is ever saved. Each docstring says whether its form is
exact or first order, and for which model. Further published forms, which the simulator is tested
against, are in `tests/formulas/forms.py`.

- `intervals`: how often to save (Young, exact, CheckFreq)
- `pls`: CPR's portion of lost samples, first order and exact, and the intervals that meet it
- `makespan`: exact wall times of full recovery under exponential failures
- `attempts`: saves that fail, loads that fail
- `experts`: saves of some experts in rotation
- `ecrec`: ECRec's erasure coding, calibrated on its paper
"""
