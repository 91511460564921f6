"""What facts mean for the tables, one module for each stream."""
