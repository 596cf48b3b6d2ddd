"""The data sets' registry, their download and its verification."""
