"""What a kernel's metadata ask of a launch and eumu does not do: refused by name."""

from __future__ import annotations

from eumu.errors import LaunchError, Unsupported
from eumu.zebin.ze_info import KernelInfo

_ORDER = (0, 1, 2)


def refuse_unmodelled(info: KernelInfo) -> None:
    """Raises LaunchError for a kernel that must not run, Unsupported for what is not modelled."""
    env, reason = info.execution_env, info.user_attributes.invalid_kernel
    if reason:
        raise LaunchError(f"the compiler marked kernel {info.name} as invalid: {reason}")
    if env.work_group_walk_order_dimensions != _ORDER:
        order = ", ".join("xyz"[d] for d in env.work_group_walk_order_dimensions)
        raise Unsupported(f"kernel {info.name} takes local ids in the order {order}, not x, y, z")
    if env.has_device_enqueue:
        raise Unsupported(f"kernel {info.name} enqueues kernels on the device")
    if env.has_rtcalls:
        raise Unsupported(f"kernel {info.name} traces rays")
