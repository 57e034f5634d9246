"""Laws of durations: what each draws, how long it lasts, and how its failure rate goes with age.

One class a law, whoever asks: who draws traces, fits lives, or shows both in a picture.
"""
