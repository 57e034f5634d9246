"""Quality of the settings that `advise` finds, and the share of its certificates that is wrong."""
