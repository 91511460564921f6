"""Model providers behind one port (`base.py`); a service's composition root picks one."""
