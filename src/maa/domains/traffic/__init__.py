"""Traffic forecasting: speeds of road sensors, window by window."""
