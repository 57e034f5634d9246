"""Results of the engines before they are rebuilt, and a command that compares with them."""
