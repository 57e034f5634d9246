"""How good the settings are that `advise` finds, and how often its certificates are wrong."""
