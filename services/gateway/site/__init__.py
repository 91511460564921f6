"""The public pages: everything the record says, readable without an account, a key or a script."""
