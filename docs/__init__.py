"""The pages of the project, and the programs that write some of them."""
