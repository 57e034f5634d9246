"""What is known of CPR's production fleet, and all the fleets that fit it as well as ours."""
