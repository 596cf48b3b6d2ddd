"""One archive of a study's results, from which others can verify every number."""
