"""Pictures of questions: each makes its runs and a table; `cprsim.figures` draws it.

What a question varies, and around which scenario, is here.
"""
