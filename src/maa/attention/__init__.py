"""Mass-aware attention: the operator, its gain, a module, and operators by name.

Source: Yu and Ha, "What Softmax Throws Away: Mass-Aware Attention for Evidence
Accumulation", arXiv 2607.22781, sections 3.1 to 3.3.
"""

from maa.attention.lp import g_p, log_norms, lp_gain, lp_normalize
from maa.attention.mass_aware import MassAwareAttention, mass_aware_attention
from maa.operators import Operator, parse_operator

__all__ = [
    "MassAwareAttention",
    "Operator",
    "g_p",
    "log_norms",
    "lp_gain",
    "lp_normalize",
    "mass_aware_attention",
    "parse_operator",
]
