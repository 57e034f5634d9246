"""The processes of a real job, and what they hold: servers and the trainer."""
