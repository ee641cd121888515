"""Mistakes in a program's calls, which the driver's library notes in checked runs."""

from __future__ import annotations

from typing import Final

from eumu.cl.protocol import Mistake
from eumu.errors import Finding, Severity

# Errors of OpenCL without CL_ in front.
_ERRORS: Final = {
    -3: "COMPILER_NOT_AVAILABLE",
    -11: "BUILD_PROGRAM_FAILURE",
    -15: "COMPILE_PROGRAM_FAILURE",
    -17: "LINK_PROGRAM_FAILURE",
    -43: "INVALID_BUILD_OPTIONS",
    -1: "DEVICE_NOT_FOUND",
    -2: "DEVICE_NOT_AVAILABLE",
    -4: "MEM_OBJECT_ALLOCATION_FAILURE",
    -5: "OUT_OF_RESOURCES",
    -6: "OUT_OF_HOST_MEMORY",
    -7: "PROFILING_INFO_NOT_AVAILABLE",
    -8: "MEM_COPY_OVERLAP",
    -9: "IMAGE_FORMAT_MISMATCH",
    -10: "IMAGE_FORMAT_NOT_SUPPORTED",
    -13: "MISALIGNED_SUB_BUFFER_OFFSET",
    -14: "EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
    -19: "KERNEL_ARG_INFO_NOT_AVAILABLE",
    -30: "INVALID_VALUE",
    -31: "INVALID_DEVICE_TYPE",
    -32: "INVALID_PLATFORM",
    -33: "INVALID_DEVICE",
    -34: "INVALID_CONTEXT",
    -35: "INVALID_QUEUE_PROPERTIES",
    -36: "INVALID_COMMAND_QUEUE",
    -37: "INVALID_HOST_PTR",
    -38: "INVALID_MEM_OBJECT",
    -39: "INVALID_IMAGE_FORMAT_DESCRIPTOR",
    -40: "INVALID_IMAGE_SIZE",
    -41: "INVALID_SAMPLER",
    -42: "INVALID_BINARY",
    -44: "INVALID_PROGRAM",
    -45: "INVALID_PROGRAM_EXECUTABLE",
    -46: "INVALID_KERNEL_NAME",
    -48: "INVALID_KERNEL",
    -49: "INVALID_ARG_INDEX",
    -50: "INVALID_ARG_VALUE",
    -51: "INVALID_ARG_SIZE",
    -52: "INVALID_KERNEL_ARGS",
    -53: "INVALID_WORK_DIMENSION",
    -54: "INVALID_WORK_GROUP_SIZE",
    -55: "INVALID_WORK_ITEM_SIZE",
    -56: "INVALID_GLOBAL_OFFSET",
    -57: "INVALID_EVENT_WAIT_LIST",
    -58: "INVALID_EVENT",
    -59: "INVALID_OPERATION",
    -61: "INVALID_BUFFER_SIZE",
    -63: "INVALID_GLOBAL_WORK_SIZE",
    -64: "INVALID_PROPERTY",
    -65: "INVALID_IMAGE_DESCRIPTOR",
    -66: "INVALID_COMPILER_OPTIONS",
    -67: "INVALID_LINKER_OPTIONS",
    -71: "INVALID_SPEC_ID",
}


def finding(mistake: Mistake, status: int, call: str, reason: str) -> Finding:
    """The record of a mistake; `status` are the 32 bits of an error.

    >>> finding(Mistake.FAILED, -51 & 0xFFFFFFFF, "clSetKernelArg", "8 bytes").message
    'clSetKernelArg fails with CL_INVALID_ARG_SIZE (-51): 8 bytes'
    """
    if mistake is Mistake.LEFT:
        text = f"{reason} has not been released when the program ends"
        return Finding("api-left", text, severity=Severity.NOTE)
    if mistake is Mistake.MAPPED:
        return Finding("api-mapped", reason)
    if mistake is Mistake.CONSTANT:
        return Finding("api-read-only", reason)
    error = status - (1 << 32) if status >> 31 else status
    name = f"CL_{_ERRORS[error]} ({error})" if error in _ERRORS else str(error)
    return Finding("api", f"{call} fails with {name}" + (f": {reason}" if reason else ""))
