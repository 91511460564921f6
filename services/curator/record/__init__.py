"""The tables as the curator reads them."""
