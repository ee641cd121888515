"""Blocks of constants: the compiler reads more than a program asks for, behind their end."""

from __future__ import annotations

import numpy as np
import pytest

import eumu

ENGINES = ("interp", "jit")
SUM = """
kernel void sum(constant %s *w, global float *out) {
    float s = 0;
    for (int i = 0; i < %d; i++) s += %s * (i + 1);
    out[get_global_id(0)] = s;
}"""
TAIL = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void copy(global uint *in, global uint *out) {
    out[get_global_id(0)] = intel_sub_group_block_read(in);
}"""
EACH = """
__attribute__((intel_reqd_sub_group_size(16)))
kernel void each(constant float *w, global float *out, constant int *step) {
    constant float *own = w + step[0] * get_sub_group_id();
    out[get_global_id(0)] = own[0] + own[1] * 2 + own[2] * 3;
}"""
PARTS = """
kernel void parts(constant half *w, global float *out) {
    vstore4(vloada_half4(0, w), 0, out);
    vstore3(vloada_half3(0, w + 4), 0, out + 4);
    vstore3(vloada_half3(0, w), 0, out + 7);
}"""
LAST = "kernel void last(constant int *w, global int *out, int n) { *out = w[n]; }"

pytestmark = pytest.mark.usefixtures("ocloc")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["skl", "dg2", "pvc"])
@pytest.mark.parametrize("count", [3, 11, 25, 49])
def test_filters_of_any_size(count: int, target: str, engine: str) -> None:
    """Surfaces are read in blocks of up to 128 bytes, addresses in those of four elements."""
    kernel = eumu.build(SUM % ("float", count, "w[i]"), target)["sum"]
    for check in (False, True, "races"):
        device = eumu.Device(target, engine=engine, check=check)
        weights = np.arange(count, dtype=np.float32)
        out = device.array(np.zeros(16, np.float32))
        report = kernel.launch(device, (16,), args=[device.array(weights), out])
        assert not report.findings
        assert (out.numpy() == (weights * np.arange(1, count + 1)).sum()).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_native_code_and_commands(engine: str) -> None:
    kernel = eumu.build(SUM % ("float", 25, "w[i]"), "skl")["sum"]
    for level, via in (("native", "record"), ("visa", "commands"), ("native", "commands")):
        device = eumu.Device("skl", engine=engine)
        out = device.array(np.zeros(16, np.float32))
        args = [device.array(np.ones(25, np.float32)), out]
        kernel.launch(device, (16,), args=args, level=level, via=via)
        assert (out.numpy() == 325).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["skl", "dg2", "pvc"])
def test_blocks_that_a_program_reads_must_be_inside(target: str, engine: str) -> None:
    device = eumu.Device(target, engine=engine)
    kernel = eumu.build(TAIL, target)["copy"]
    args = [device.array(np.zeros(15, np.uint32)), device.array(np.zeros(16, np.uint32))]
    with pytest.raises(eumu.Fault, match="block load of 64 bytes"):
        kernel.launch(device, (16,), (16,), args=args)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["skl", "dg2", "pvc"])
def test_an_index_behind_the_end_is_a_fault(target: str, engine: str) -> None:
    device = eumu.Device(target, engine=engine)
    kernel = eumu.build(LAST, target)["last"]
    weights, out = device.array(np.arange(25, dtype=np.int32)), device.array(np.zeros(1, np.int32))
    kernel.launch(device, (1,), args=[weights, out, 24])
    assert out.numpy()[0] == 24
    with pytest.raises(eumu.Fault, match="outside"):
        kernel.launch(device, (1,), args=[weights, out, 25])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["dg2", "pvc"])
def test_the_fault_is_that_of_the_block_outside(target: str, engine: str) -> None:
    """The first thread reads behind the end of three weights, the second one begins there."""
    device = eumu.Device(target, engine=engine)
    kernel = eumu.build(EACH, target)["each"]
    step = device.array(np.array([3], np.int32))
    args = [device.array(np.ones(3, np.float32)), device.array(np.zeros(32, np.float32)), step]
    with pytest.raises(eumu.Fault, match="block load of 16 bytes") as caught:
        kernel.launch(device, (32,), (32,), args=args)
    assert "thread 1," in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", ["skl", "dg2", "pvc"])
def test_an_array_may_end_within_an_element_of_a_block(target: str, engine: str) -> None:
    """Seven halves are 14 bytes, of which the compiler reads 16; what is behind them is 0."""
    kernel = eumu.build(PARTS, target)["parts"]
    for check in (False, True):
        device = eumu.Device(target, engine=engine, check=check)
        weights = device.array(np.arange(1, 8, dtype=np.float16))
        out = device.array(np.zeros(10, np.float32))
        report = kernel.launch(device, (1,), args=[weights, out])
        assert not report.findings
        assert out.numpy().tolist() == [1, 2, 3, 4, 5, 6, 7, 1, 2, 3]
