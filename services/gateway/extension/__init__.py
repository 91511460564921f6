"""The procedures that the browser extension calls."""
