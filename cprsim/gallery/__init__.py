"""Pictures of questions: each makes a table by runs of its own; `cprsim.figures` draws it.

What a question varies, and around which scenario, is here.
"""
