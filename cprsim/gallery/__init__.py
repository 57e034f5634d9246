"""Pictures of questions: each prepares a table, with runs of its own, and draws it.

`cprsim.figures` draws tables and knows no engine; `Result.figure` is the picture of one run. What
a question varies, and around which scenario, is here, one file a picture.
"""
