"""Many programs, each run in several ways, on as many processes and machines as there are.

A campaign is a row of tasks.  A task is plain data, and what it finds depends on nothing but that:
workers share no state, and one that dies is replaced.  Results lie in a store, which only the
process that began the campaign writes; a task that is in it does not run again.
"""
