"""What a plan should cost: the analytic interpreter of the policy contract."""
