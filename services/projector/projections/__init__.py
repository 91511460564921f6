"""What facts change in the tables: the rules of each stream, and a module for each subject."""
