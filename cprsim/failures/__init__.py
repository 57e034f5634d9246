"""When what breaks: the scenario's failure section, and the timelines drawn from it."""
