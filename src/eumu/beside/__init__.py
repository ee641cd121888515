"""Engine processes beside host programs: starting and watching them.

A *door* is the way from a program to eumu: `eumu.drm` (under Intel's driver) and `eumu.cl` (eumu's
own driver).  Both use the same processes.
"""
