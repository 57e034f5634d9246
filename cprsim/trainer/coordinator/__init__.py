"""The process that leads a real job: has it trained, saved, struck and recovered."""
