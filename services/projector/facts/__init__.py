"""Facts: read from stored bytes, put in order, and whose fault it is when one fails."""
