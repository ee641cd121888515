"""Constants of the approximations, lowest power first; :mod:`eumu.isa.mathlib.fit` prints them.

``HALF_PI``, ``LOG2E`` and ``HALF_LN2`` are sums of parts; the first parts are cut off, so that
their product with a small integer is exact (with one of `HALF_PI`, after a fused subtraction).
The others are polynomials P, with the error of the function relative to its value (s = r*r):

* ``EXP2``, ``EXP2_DF``: 2**x = 1 + x*P(x), |x| <= 1/2
* ``LOG2``, ``LOG2_DF``: log2(1+x) = x*P(x), sqrt(1/2) <= 1+x <= sqrt(2)
* ``SIN``, ``COS``: sin(r) = r + r*s*P(s), cos(r) = 1 + s*P(s), |r| <= 0.793
* ``EXPM1_TWICE``: exp(2x)-1 = 2x + x*x*P(x), |x| <= 0.175
"""

from __future__ import annotations


def _hex(*numbers: str) -> tuple[float, ...]:
    return tuple(map(float.fromhex, numbers))


HALF_PI = _hex(
    "0x1.921fb40000000p+0",
    "0x1.4442d00000000p-24",
    "0x1.84698a0000000p-48",
)
LOG2E = _hex(
    "0x1.7154760000000p+0",
    "0x1.4ae0c00000000p-26",
)
HALF_LN2 = _hex(
    "0x1.62e4000000000p-2",
    "0x1.7f7d1c0000000p-21",
)
EXP2 = _hex(  # relative error 2^-28.1
    "0x1.62e4300000000p-1",
    "0x1.ebfbd80000000p-3",
    "0x1.c6af780000000p-5",
    "0x1.3b30b00000000p-7",
    "0x1.5f0a660000000p-10",
    "0x1.3f906c0000000p-13",
)
EXP2_DF = _hex(  # relative error 2^-28.9
    "0x1.62e430c688ed4p-1",
    "0x1.ebfbdcf8b4486p-3",
    "0x1.c6aed61c2af16p-5",
    "0x1.3b2cc347135d2p-7",
    "0x1.5f44dc126b0e5p-10",
    "0x1.4258d7d758223p-13",
)
LOG2 = _hex(  # relative error 2^-26.0
    "0x1.7154760000000p+0",
    "-0x1.7154700000000p-1",
    "0x1.ec714e0000000p-2",
    "-0x1.715b1a0000000p-2",
    "0x1.2762d80000000p-2",
    "-0x1.ea7dc00000000p-3",
    "0x1.a613c00000000p-3",
    "-0x1.8bd02a0000000p-3",
    "0x1.6e87020000000p-3",
    "-0x1.8d381c0000000p-4",
)
LOG2_DF = _hex(  # relative error 2^-35.7
    "0x1.71547652a4776p+0",
    "-0x1.715476573dc78p-1",
    "0x1.ec709ea532e13p-2",
    "-0x1.71546f2d77868p-2",
    "0x1.27765936e6554p-2",
    "-0x1.ec735f31f6ca7p-3",
    "0x1.a63ddb3f600fdp-3",
    "-0x1.7130bc9464b2ep-3",
    "0x1.4530a73908f6cp-3",
    "-0x1.25eb949f9c27bp-3",
    "0x1.28e50071b53c0p-3",
    "-0x1.2178f7797df44p-3",
    "0x1.34d3f869a3c36p-4",
)
SIN = _hex(  # relative error 2^-27.9
    "-0x1.5555440000000p-3",
    "0x1.1106c80000000p-7",
    "-0x1.991d000000000p-13",
)
COS = _hex(  # relative error 2^-32.5
    "-0x1.0000000000000p-1",
    "0x1.5555480000000p-5",
    "-0x1.6c0b160000000p-10",
    "0x1.99a1280000000p-16",
)
EXPM1_TWICE = _hex(  # relative error 2^-26.0
    "0x1.fffffe0000000p+0",
    "0x1.5554a80000000p+0",
    "0x1.55571e0000000p-1",
    "0x1.122de20000000p-2",
    "0x1.6b70920000000p-4",
)
