"""Engine processes beside the programs that they serve: starting them and watching them.

A *door* is how a program reaches eumu: `eumu.drm` under Intel's driver, `eumu.cl` by eumu's own.
Both have the same processes.
"""
