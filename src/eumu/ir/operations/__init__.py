"""The operations of the IR: their meaning, and the builder's methods for them; a file per family.

An operation is a method under :func:`~eumu.ir.operations.row.operation`.  The docstring is the
contract between lowering and engines; the attributes are the fields of a class.  The verifier, the
text and the search for undefined values follow from the row of the operation.

All lane operands of an operation have the same width unless its row says otherwise; there is no
implicit conversion.  Integer arithmetic wraps.  Float operations round as their `rounding` says (a
:class:`~eumu.ir.operations.arithmetic.Rounding`; `CR0` until the pass `modes` has folded it) and
keep denormals: flushing is the explicit operation `flush`.  A NaN result has no specified payload,
but `neg`, `abs` and moves keep every bit.  Lanes whose mask bit is clear keep their old bytes in
every `write`, and never touch memory.
"""
