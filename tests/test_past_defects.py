"""What once went wrong, and the tests that fail where it does again.

Each row was a program that wrote to the host's memory, crashed, hung, took memory without limit, or
gave a wrong answer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DEFECTS = {
    "a store to lanes that lie 2**63 bytes apart and more passed one check of bounds": (
        "exec/test_wide_affine.py::test_lanes_that_are_all_numbers_apart_do_not_pass_one_check",
        "exec/test_wide_affine.py::test_a_store_to_lanes_far_away_is_a_fault",
        "hostile/test_hostile.py",
    ),
    "lanes 2**64 bytes apart became the constant 0 in LLVM": (
        "exec/test_wide_affine.py::test_a_constant_that_does_not_fit_is_an_internal_error",
        "exec/test_wide_affine.py::test_no_module_with_such_a_constant_becomes_code",
    ),
    "the base address of a surface in a batch reached compiled code": (
        "exec/test_gate.py::test_a_surface_ends_where_memory_does",
        "exec/test_gate.py::test_nobody_else_admits",
        "images/test_checklist.py::test_s4_a_surface_outside_memory_is_an_error",
    ),
    "so did those in a checkpoint; it had -4 groups, or began with group 100000": (
        "runtime/test_checkpoint.py::test_a_surface_outside_memory_is_refused",
        "runtime/test_checkpoint.py::test_every_field_is_checked",
    ),
    "a checkpoint of 3 MB took 6 GB": (
        "runtime/test_checkpoint.py::test_a_small_file_unpacks_to_no_more_than_it_says",
    ),
    "threads that allocated at once got each other's memory": (
        "device/test_allocator.py::test_arrays_of_many_threads_are_their_own",
        "device/test_allocator.py::test_freed_by_two_threads_is_freed_once",
    ),
    "after Ctrl-C a worker went on while its tables were freed": (
        "ctrl_c/test_ctrl_c.py::test_no_worker_runs_when_it_comes_out",
        "ctrl_c/test_ctrl_c.py::test_a_pool_that_is_interrupted_anywhere",
    ),
    "a long launch obeyed Ctrl-C after ten seconds": (
        "ctrl_c/test_ctrl_c.py::test_ctrl_c_at_random_moments",
    ),
    "a tree of calls obeyed neither its budget nor Ctrl-C": (
        "ctrl_c/test_ctrl_c.py::test_calls_cost_fuel",
    ),
    "100 gotos that cross took minutes to compile": (
        "exec/test_jit_compile_time.py::test_jumps_that_cross_cost_what_they_are",
        "exec/test_jit_compile_time.py::test_too_many_crossing_jumps_are_interpreted",
    ),
    "a width of printf took 5.9 GB": ("test_settings.py::test_printed_text_has_a_limit",),
    "a kernel's metadata asked for 2 GB of scratch space": (
        "test_settings.py::test_scratch_space_has_a_limit",
    ),
    "a device kept facts of every kernel that it had run": (
        "runtime/test_threads.py::test_facts_of_functions_do_not_pile_up",
    ),
    "small arrays that were freed kept their pages": (
        "device/test_allocator.py::test_small_arrays_give_their_pages_back",
    ),
    "without HOME and without an entry in passwd nothing ran": (
        "exec/test_cache_safety.py::test_without_a_home_nothing_is_kept",
    ),
    "machine code was loaded from a folder that others may write": (
        "exec/test_cache_safety.py::test_a_folder_that_others_may_write_is_not_used",
        "exec/test_cache_safety.py::test_a_file_that_others_may_write_is_not_used",
    ),
    "a lane pattern of integers, read as floats, was no valid LLVM": (
        "exec/test_jit_reinterpretation.py::test_read_in_every_type",
    ),
    "the sign of a NaN differed between engines, and counted as a difference": (
        "compare/test_nans.py::test_patterns_of_a_type",
    ),
    ".any and .all looked at as many bits of a predicate as the execution size has": (
        "finalizer/test_predicates.py",
    ),
    "a state that a flush had not dropped was read again": (
        "images/test_checklist.py::test_s7_state_is_stale_until_it_is_invalidated",
        "images/test_checklist.py::test_s7_a_command_flushes_the_cache",
    ),
    "the response with a null mask had a register too many": (
        "images/test_responses.py::test_the_null_mask_is_one_register",
        "images/test_responses.py::test_a_null_mask_without_its_register",
    ),
    "bindless samplers were read from the dynamic base": (
        "images/test_bindless_samplers.py::test_with_the_bit_it_counts_from_the_bindless_base",
    ),
    "fields of media walkers and pools were decoded and did nothing": (
        "device/test_fields.py::test_every_field_acts_or_is_in_the_table",
    ),
    "a sampler message without header ran while threads may be stopped": (
        "images/test_responses.py::test_headers_while_threads_may_be_stopped",
    ),
    "parts with one bank of L3 had the sizes of others": ("device/test_l3.py",),
    "what a loop's turns to come load was read in steps that are no element": (
        "exec/test_ahead.py::test_walks",
        "random_kernels/test_walking.py::test_engines_agree",
    ),
    "LOD PreClamp Mode and LOD Clamp Magnification Mode did nothing": (
        "images/test_scalar_oracle.py::test_levels",
    ),
    "a submission that could not be sent left its program waiting for ever": (
        "drm/test_failing_calls.py::test_calls_of_programs",
    ),
    "a call that failed in an engine process left its program waiting, or was a traceback": (
        "drm/test_failing_calls.py::test_calls_of_engine_processes",
        "cl/test_failing_calls.py::test_calls_of_engine_processes",
        "drm/test_failing_calls.py::test_a_program_without_engine_process_is_ended",
    ),
    "the text of a program could speak to the terminal of who checks it": (
        "cli/test_controls.py::test_what_people_are_told",
        "cli/test_controls.py::test_errors_and_findings",
    ),
    "a program could make its engine process keep gigabytes of old submissions": (
        "drm/test_protocol.py::test_large_submissions_are_not_kept",
    ),
    "a register that is not modelled read as 0 without a word": (
        "device/test_streamer.py::test_a_register_that_means_nothing_is_told",
    ),
    "local memory of more than 64 bits of bytes, and an unknown engine in a record, were untyped": (
        "cl/test_requests.py::test_local_memory_of_any_size_is_an_error_of_the_launch",
        "drm/test_record.py::test_other_files",
    ),
    "a record or log that the disk could not hold ended without a word": (
        "drm/test_record.py::test_a_full_disk_ends_a_record_with_a_word",
        "drm/test_record.py::test_a_write_that_takes_a_part_is_gone_on_with",
        "drm/test_record.py::test_a_log_that_cannot_be_written",
        "test_failing_calls.py::test_a_new_file_is_whole_or_not_there",
    ),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_what_holds_it_is_there(defect: str) -> None:
    for where in DEFECTS[defect]:
        name, _, test = where.partition("::")
        text = (HERE / name).read_text()
        assert re.search(rf"^def {test or 'test_'}", text, re.MULTILINE), where
