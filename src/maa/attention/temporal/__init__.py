"""What one layer of temporal attention does to its input: exact Jacobians, and bounds.

Source: Hankemeier and Schilling, "Stochastic Parroting in Temporal Attention --
Regulating the Diagonal Sink", arXiv 2602.10956. The closed forms, and all that goes
beyond softmax (p = 1), are ours.
"""
