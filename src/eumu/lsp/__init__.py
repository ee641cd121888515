"""A language server for vISA text.

`document` knows what stands where in a text, `completion` what may be written next; both know no
protocol.  `server` is the protocol, on pygls, which is an optional dependency: import it only where
a server is wanted.
"""
