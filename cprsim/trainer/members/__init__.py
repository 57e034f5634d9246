"""The processes of a real job, and what they hold: servers, trainers, the dense part."""
