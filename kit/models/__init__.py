"""Model providers behind one port (`base.py`); `choice.py` picks one at start."""
