"""What leaves tables, ledger, stream and blobs when a root is erased."""
