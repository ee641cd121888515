"""Many programs, each run in several ways, on all available processes and machines.

A campaign is a list of tasks.  A task is plain data, and its results depend on nothing else:
workers share no state, and a worker that dies is replaced.  Results go to a store, which only the
process that began the campaign writes.  A task with a stored result does not run again.
"""
