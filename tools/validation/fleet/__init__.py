"""Known facts on CPR's production fleet, and other fleets that fit them as well as ours."""
