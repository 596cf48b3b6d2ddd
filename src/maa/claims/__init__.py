"""Claims of the paper: stated beforehand, judged by rule, shown whatever they say."""
