"""A language server for vISA text.

`document` finds the things in a text, `completion` lists what may be written next; neither depends
on the protocol.  `server` is the protocol, on pygls, which is an optional dependency: import it
only to run a server.
"""
