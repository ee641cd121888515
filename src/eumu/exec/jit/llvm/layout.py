"""The memory that compiled code and the engine share: a worker's context, a thread's record.

Both are arrays of 64-bit words; the constants are word indices.
"""

from __future__ import annotations

from enum import IntEnum

from eumu.ir import Op, Space, Value
from eumu.ir.operations.memory import WRITTEN_SPACES


class Context(IntEnum):
    """Words of a worker's context; one worker runs one group at a time."""

    ARENA = 0  # host address of arena[0]
    BASE = 1  # its device address
    ARENA_SIZE = 2
    EXTENTS = 3  # how many extents there are that may be read
    STARTS = 4  # host address of their starts
    ENDS = 5
    SURFACES = 6  # rows of (index, arena offset, size, SurfaceBits)
    SURFACE_COUNT = 7
    SYMBOLS = 8
    FUEL = 9  # instructions that one thread may run
    GROUPS_X = 10
    GROUPS_Y = 11
    GROUPS_Z = 12
    STOP = 13  # host address of the index from which on groups need not run
    NEXT = 14  # host address of the first group that no worker has taken
    CHUNK = 15  # groups that a worker takes at once
    WORKER = 16  # number of the worker
    INSTRUCTIONS = 17  # counted by compiled code
    GROUP = 18  # index of the group that runs, or ran last; NO_GROUP before
    LARGE = 19  # bytes of an array that stores may pass by the caches into
    READ = 20  # a bit for each large array that was read, by a hash of its start
    ROW = 21  # threads of a group that run before those of the next group, see `tiling`
    FAULT = 22  # a FaultKind; up to here a launch sets every word
    FAULT_SITE = 23
    FAULT_GROUP = 24
    FAULT_THREAD = 25
    FAULT_LANES = 26
    FAULT_ADDRESS = 27
    SURFACE_FAULT = 28  # the surface index of a faulting surface access
    THREAD = 29  # and of its thread
    SCRATCH = 30  # host address of the scratch space of the thread that runs
    SCRATCH_SIZE = 31  # of one thread
    SLM = 32
    SLM_SIZE = 33
    RECORDS = 34
    THREADS = 35  # in a group
    TAIL_MASK = 36  # lanes of the last thread of a group
    PAYLOADS = 37  # host address of the payload of thread 0
    PAYLOAD_SIZE = 38  # of one thread
    SCRATCH_ALL = 39  # host address of the scratch space of thread 0
    RECORD_SIZE = 40
    SLM_ROOM = (
        41  # bytes from SLM on that are cleared for a group: with what says which are written
    )
    SCRATCH_ROOM = 42  # the same for one thread, and so the distance of threads
    ZEROS = 43  # 16 words that reads outside a lenient surface see
    SINK = 59  # 16 words that such writes go to
    ANSWER = 75  # host address of the table of inline caches, see `messages`
    SIGNAL = 76  # what a thread that signalled a named barrier wrongly said: barrier, NamedRow
    NAMED = 82  # a NamedRow for each of the group's named barriers
    ROWS = 242  # host address of the payloads of all threads, if each has one of its own
    MASKS = 243  # host address of the lanes of each thread of a group, if they are given
    LEAVE = 244  # host address of the word that is set when all workers must leave
    LOOK = 245  # instructions after which the driver looks up, see `attention`
    POLLS = 246  # whether the worker runs Python's signal handlers
    POLLED = 247  # the processor's clock when it did last
    PYTHON = 248  # host address of the functions of Python, see `Python`
    ERROR = 249  # type, value and traceback of what Python ended with, three words
    CALLABLE = 252  # the Python object that answers the worker's messages
    ASKED_SITE = 253  # what it is asked, and what it said: 0, or 1 if the thread must stop
    ASKED_DATA = 254
    ASKED_STATUS = 255
    REGIONS = 256  # host address of rows of (start, size), for `paranoid`
    REGION_COUNT = 257
    ASSERTED = 258  # whether an access was outside all of them, the last one with
    ASSERTED_ADDRESS = 259
    ASSERTED_SIZE = 260
    FIRST_X = 261  # the id of the launch's first group
    FIRST_Y = 262
    FIRST_Z = 263
    STORE_EXTENTS = 264  # how many extents there are that may be written
    STORE_STARTS = 265  # host address of their starts
    STORE_ENDS = 266
    FOLLOWED = 267  # the arena offset from which on shadow memory is,
    FOLLOWED_SIZE = 268  # the bytes that it is of,
    WRITERS = 269  # host addresses of its two tables, see `shadow_memory`,
    READERS = 270
    LOCAL_WRITERS = 271  # and of those of the group's shared local memory
    LOCAL_READERS = 272
    WRITTEN_PAGES = 273  # host address of a byte for each page that shadow memory is of
    MISSED = 274  # whether a store went to a page that had not been marked there
    SUSPECT = 275  # RACING, UNMARKED
    SITES = 276  # the caches of the access sites, SITE_WORDS each


FOLLOWED_SHIFT = 12  # pages of memory that are followed if the launch stores there
# Bits of SUSPECT: two accesses may race; one is not followed, so that a store may be anywhere.
RACING, UNMARKED = 1, 2


class SurfaceBits(IntEnum):
    """The last word of a surface's row."""

    STRICT = 1
    NO_LOADS = 2
    NO_STORES = 4
    CONSTANT = 8


class Python(IntEnum):
    """Functions of Python's C interface that compiled code calls, and one of the system's."""

    ENSURE = 0
    RELEASE = 1
    SIGNALS = 2
    FETCH = 3
    CALL = 4
    DROP = 5
    SLEEP = 6


NO_GROUP = (1 << 64) - 1
VOID_BYTES = 128  # of ZEROS, and of SINK


class NamedRow(IntEnum):
    """Words of a named barrier."""

    OPEN = 0  # whether some have come since it opened last; in SIGNAL: the role
    PRODUCERS = 1  # how many are expected
    CONSUMERS = 2
    COME_PRODUCERS = 3
    COME_CONSUMERS = 4


NAMED_WORDS = len(NamedRow)

# Local spaces: the memory, and whether it is what says which of its bits are written, which lies
# as many bytes behind as the memory has.
LOCAL = {
    **{memory: (memory, False) for memory in WRITTEN_SPACES},
    **{shadow: (memory, True) for memory, shadow in WRITTEN_SPACES.items()},
}
# Words with the host address and the size of a local memory.
WORDS = {
    Space.SLM: (Context.SLM, Context.SLM_SIZE),
    Space.SCRATCH: (Context.SCRATCH, Context.SCRATCH_SIZE),
}


class SiteWord(IntEnum):
    """Words of an access site's cache: an extent as (start, size less access plus one)."""

    WHOLE_START = 0
    WHOLE_SPAN = 1  # for the access of all lanes at once
    LANE_START = 2
    LANE_SPAN = 3  # for the access of one lane
    SURFACE = 4  # the surface index that the spans are for, plus one
    SURFACE_ADDRESS = 5  # host address of its first byte
    # The bits that an address must not have for a store past the caches.  It is set with the
    # spans, without which no access is in line.
    CACHED = 6
    SMALL_SPAN = 7  # WHOLE_SPAN, or 0 where the extent does not stay in the caches of one core
    LAST = 8  # host address of what a load in a loop loaded last from such an extent


SITE_WORDS = 9
LINE = 64  # bytes of a line of a cache


class FaultKind(IntEnum):
    """Why compiled code stopped."""

    NONE = 0
    ACCESS = 1  # outside every live extent, SLM, scratch or a strict surface
    FUEL = 2
    TRAP = 3
    DIVERGENT = 4  # lanes of a thread are not all at the barrier
    ENDED = 5  # a thread of the group ended that others wait for
    PLACES = 6  # threads of the group meet at different barriers
    DEADLOCK = 7  # threads wait for a signal that nobody gives
    INDIRECT = 8  # register-indirect access outside the roots
    CALLS = 9  # too deep
    MESSAGE = 10  # the host did not answer
    NO_FUNCTION = 11  # call of an address where none is
    NO_BARRIER = 12  # signals of a named barrier that has another number,
    NO_ROLE = 13  # as what nobody can be,
    OTHER_COUNTS = 14  # with other counts than those before,
    TOO_MANY = 15  # or once too often
    ALONE = 16  # a thread without the other one of its pair
    STOPPED = 17  # all workers were told to leave


SLICE = 1 << 14  # instructions until a thread looks up, or gives way in a waiting loop
NO_LIMIT = len(FaultKind)  # what is less is no count to go on to, but a kind of fault


class Record(IntEnum):
    """Words of a thread's record; frames, memory roots and spilled roots follow."""

    PC = 0  # resume point, 0 at the start
    STATE = 1  # a ThreadState
    COUNT = 2  # instructions run so far
    DEPTH = 3  # frames in use
    ARRIVED = 4  # barriers signalled
    PASSED = 5  # barriers waited for
    PLACE = 6  # site of the barrier that it waits at
    SYNC = 7  # whether that barrier signals too
    NAME = 8  # the named barrier that it waits at, plus one; 0 if it has no name
    NOTICES = 9  # a bit for each named barrier that has opened for this consumer
    CAME_PRODUCER = 10  # a bit for each named barrier that it has come to, which is closed
    CAME_CONSUMER = 11
    PAIRS = 12  # how often it came to a barrier of its pair
    FRAMES = 13


# Words that only kernels with named barriers use.
NAMED_RECORD = frozenset(
    {Record.NAME, Record.NOTICES, Record.CAME_PRODUCER, Record.CAME_CONSUMER, Record.PAIRS}
)


class ThreadState(IntEnum):
    """Whether a thread can run."""

    READY = 0
    BLOCKED = 1
    FREE = 2  # may leave its barrier
    DONE = 3


class ThreadOutcome(IntEnum):
    """What a thread function returns."""

    END = 0
    BARRIER = 1
    YIELD = 2  # at a loop header, so that other threads get a turn
    FAULT = 3
    AGAIN = 4  # a speculative version: from the beginning, with the complete one
    WAIT = 5  # like YIELD, in a loop that only memory ends


STOPPED_SHIFT = 8  # a resume point, in the outcome of a thread whose driver keeps it


class ReportWord(IntEnum):
    """Words of a report's site, which has no extents to remember."""

    COUNT = 0
    GROUP = 1
    THREAD = 2
    LANES = 3
    ADDRESS = 4
    SURFACE = 5


def message_places(op: Op) -> tuple[list[int], int]:
    """Where the arrays of a message start, and the bytes of all."""
    starts, end = [], 0
    for value in (*op.args, *op.results):
        starts.append(end)
        end += -(-value_size(value) // 8) * 8
    return starts, end


def value_size(value: Value) -> int:
    return value.width * (1 if value.is_mask else value.type.size)
