"""The engine process of one program: answers what the driver's library asks.

Requests are answered one after the other; what a kernel does wrong is told on standard error and
becomes a status.  When the program is gone, the process ends at once, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import itertools
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from eumu.beside.door import ProtocolError, explained, say
from eumu.beside.new_findings import New
from eumu.beside.peer import abort
from eumu.cl import images, misuse, write_only
from eumu.cl.builds import Failed, Made, build, check_defined
from eumu.cl.facts import MOST_BYTES
from eumu.cl.meeting import ClProgram
from eumu.cl.memory import SharedMemory, title
from eumu.cl.options import ClOptions
from eumu.cl.programs import Loaded, described
from eumu.cl.protocol import (
    AllocationUse,
    Argument,
    Fields,
    Form,
    Mistake,
    RequestCode,
    Status,
    Wanted,
    packed,
    reply,
    requests,
)
from eumu.device.allocator import PAGE
from eumu.errors import EumuError, Fault, Finding, NoKernel, OutOfMemory, Severity
from eumu.exec.tiered import tiered
from eumu.runtime import Array, Device, Image, Kernel, Local, Program
from eumu.runtime.engines import DRIVER_FUEL
from eumu.runtime.program import load_built
from eumu.runtime.report import Report

if TYPE_CHECKING:
    from eumu.beside.report import KernelProfiles

_SHOWN: Final = 20  # findings that are printed
_ALLOCATE: Final = struct.Struct("<QQQIQ")
_ADDRESS: Final = struct.Struct("<Q")
_LAUNCH: Final = struct.Struct("<4I9Q")
_POINTER: Final = struct.Struct("<2Q")
_SAMPLER: Final = struct.Struct("<3I")
_IMAGE: Final = struct.Struct("<Q3I6Q")
_MADE: Final = struct.Struct("<5Q")
_MOST_ALIGN: Final = 1 << 16
_MOST_TEXELS: Final = 1 << 16  # in one direction
_KEPT: Final = 10_000  # findings that are recorded for the command
_MOST_ARGUMENTS: Final = 256  # kept for launches with the same ones
_OBJECT, _LIBRARY, _EXECUTABLE = 1, 2, 4  # types of binaries, as OpenCL has them

Answer = tuple[int, bytes]


class _Service:
    """The device of a program, and what the program has of it."""

    def __init__(self, memory: SharedMemory, program: int, options: ClOptions) -> None:
        self._options, self._memory, self._program = options, memory, program
        self.device = Device(
            options.device,
            options.engine,
            check=options.check,
            memory_bytes=1 << 16,
            strict_bounds=options.strict_bounds,
        )
        self.device.memory, self.device.default_fuel = memory, DRIVER_FUEL
        self.profiles: KernelProfiles | None = None
        if options.report is not None:
            from eumu.beside.report import KernelProfiles

            self.device.observer = self.profiles = KernelProfiles(self.device.part)
        self._has_tiers = False
        memory.sink = self._print
        self._printed: list[str] = []
        self._numbers = itertools.count(1)
        self._programs: dict[int, Loaded] = {}
        self._images: dict[int, Image] = {}
        self._owned: set[int] = set()  # images with memory of their own
        self._new = New()
        self._recorded = 0
        self._is_lasting = True  # whether arguments are those of the same bytes later
        self._answers: dict[RequestCode, Callable[[Fields], Answer]] = {
            RequestCode.ALLOCATE: self._allocate,
            RequestCode.FREE: self._free,
            RequestCode.BUILD: self._build,
            RequestCode.DROP: self._drop,
            RequestCode.LAUNCH: self._launch,
            RequestCode.IMAGE: self._image,
            RequestCode.TEXEL: self._texel,
            RequestCode.FREE_IMAGE: self._free_image,
            RequestCode.NOTE: self._note,
            RequestCode.WHERE: self._where,
        }

    def answer(self, request: RequestCode, data: bytes) -> Answer:
        """The answer to a request; only ProtocolError comes out."""
        handler = self._answers.get(request)
        if handler is None:
            raise ProtocolError(f"request {request.name} in the middle")
        try:
            return handler(Fields(data))
        except ProtocolError:
            raise
        except OutOfMemory as error:
            return self._failed(error, Status.MEM_OBJECT_ALLOCATION_FAILURE)
        except Exception as error:  # a fault, or a mistake of eumu's: the program sees a status
            return self._failed(error, Status.OUT_OF_RESOURCES)

    # ---- memory

    def _allocate(self, fields: Fields) -> Answer:
        size, align, past, kind, number = fields.numbers(_ALLOCATE)
        is_odd = align & (align - 1) or align > _MOST_ALIGN or past >= max(align, 1)
        if is_odd or size > MOST_BYTES:
            raise ProtocolError(f"{size} bytes of memory {past} behind a multiple of {align}")
        name = title(_of(AllocationUse, kind), number)
        access = "w" if kind == AllocationUse.WRITE_ONLY else "rw"
        if not self._options.strict_bounds:  # hardware knows pages
            size, align = -(-(size + past) // PAGE) * PAGE - past, max(align, PAGE)
        made = self._memory.place(size, name, max(align, 1), past, access)
        return Status.SUCCESS, _ADDRESS.pack(made.start)

    def _free(self, fields: Fields) -> Answer:
        self._memory.free(fields.u64())
        return Status.SUCCESS, b""

    def _where(self, fields: Fields) -> Answer:
        """Whether bytes that a call gives by address are of one allocation; or where they are."""
        address, size = fields.numbers(_POINTER)
        below = self._memory.around(address)
        if below is not None and address + size <= below.end:
            return Status.SUCCESS, b""
        where = self._memory.describe(address)
        return Status.INVALID_VALUE, packed(f"{size} bytes at {address:#x}: {where}")

    # ---- programs

    def _build(self, fields: Fields) -> Answer:
        wanted, form = _of(Wanted, fields.u32()), _of(Form, fields.u32())
        options, count = fields.text(), fields.u32()
        inner = Fields(fields.data_bytes())
        parts = [(inner.text(), inner.data_bytes()) for _ in range(count)]
        if not parts:
            raise ProtocolError("a build of nothing")
        try:
            made = build(wanted, form, options, parts, self.device.platform)
            return Status.SUCCESS, packed(made.log, made.data) + self._described(made, wanted, form)
        except Failed as error:
            return error.status, packed(error.log, b"", 0, 0, 0, 0, 0)
        except EumuError as error:
            status = Status.INVALID_BINARY if form is Form.BINARY else Status.BUILD_PROGRAM_FAILURE
            return status, packed(str(error), b"", 0, 0, 0, 0, 0)

    def _described(self, made: Made, wanted: Wanted, form: Form) -> bytes:
        if made.of is not None:
            kind = _LIBRARY if made.of.is_library else _OBJECT
            return packed(kind, made.of.smaller_groups, 0, 0, 0)
        self._take_tiers()
        loaded = Loaded(self._loaded(made))
        elf = loaded.program.elf
        if elf is not None and form is not Form.BINARY:
            check_defined(wanted, elf.needs)
        allowed = made.smaller_groups
        if allowed is None:
            allowed = loaded.program.smaller_groups
        loaded.program.smaller_groups = True  # the driver's library refuses them
        number = next(self._numbers)
        self._programs[number] = loaded
        rest = described(loaded)
        return packed(_EXECUTABLE, allowed, number, loaded.program.variable_bytes) + rest

    def _loaded(self, made: Made) -> Program:
        """The program of an ELF; OpenCL knows programs without kernels, too."""
        try:
            return load_built(made.data, self.device, made.sources)
        except NoKernel:
            return Program("program", self.device.platform)

    def _take_tiers(self) -> None:
        """Let first launches begin before their code is made; engines are imported when they are
        needed.  Checked runs and reports are of one engine."""
        if self._has_tiers or self.device.engine != "jit" or self._options.check or self.profiles:
            return
        self._has_tiers = True
        with contextlib.suppress(ImportError, OSError):  # the device says that it has no fast one
            self.device.use("jit", tiered())

    def _drop(self, fields: Fields) -> Answer:
        self._programs.pop(fields.u32(), None)
        return Status.SUCCESS, b""

    # ---- launches

    def _launch(self, fields: Fields) -> Answer:
        numbers = fields.numbers(_LAUNCH)
        program, index, dims, has_local = numbers[:4]
        sizes = [numbers[k : k + 3][: min(dims, 3)] for k in (4, 7, 10)]
        loaded = self._programs.get(program)
        if loaded is None or index >= len(loaded.kernels) or not 1 <= dims <= 3:
            raise ProtocolError(f"a launch of kernel {index} of program {program}")
        arguments = self._arguments(loaded, index, fields)
        try:
            report = self._run(
                partial(
                    loaded.kernels[index].launch,
                    *(self.device, sizes[0], sizes[1] if has_local else None, arguments),
                    global_offset=sizes[2],
                ),
                arguments,
            )
        except Fault as error:
            self._tell(error.findings)
            passed = tuple(self._passed(loaded.kernels[index], arguments))
            told = replace(error.finding, notes=(*error.finding.notes, *passed))
            self._record(told)
            self._say(f"eumu: {Fault.of(told)}")
            self._fault()
            return Status.OUT_OF_RESOURCES, self._text()
        self._tell(report.findings)
        return Status.SUCCESS, self._text()

    def _run(self, launch: Callable[[], Report], arguments: list[object]) -> Report:
        if not self._options.check:
            return launch()
        printed = len(self._printed)

        def tell(finding: Finding) -> None:
            del self._printed[printed:]
            self._tell([finding])

        return write_only.run(launch, self._memory, arguments, tell)

    def _arguments(self, loaded: Loaded, index: int, fields: Fields) -> list[object]:
        """The arguments of a launch; those of the same bytes are the same objects."""
        key = index, fields.rest()
        arguments = loaded.arguments.get(key)
        if arguments is None:
            self._is_lasting = True
            arguments = [self._argument(fields) for _ in loaded.kernels[index].args]
            if not fields.is_empty:
                raise ProtocolError("more arguments than the kernel has")
            if self._is_lasting:
                if len(loaded.arguments) >= _MOST_ARGUMENTS:
                    loaded.arguments.clear()
                loaded.arguments[key] = arguments
        return arguments

    def _argument(self, fields: Fields) -> Any:
        match _of(Argument, fields.u32()):
            case Argument.VALUE:
                return fields.data_bytes()
            case Argument.POINTER:
                return self._pointer(*fields.numbers(_POINTER))
            case Argument.LOCAL:
                return Local(fields.u64())
            case Argument.SAMPLER:
                self._is_lasting = False
                return images.sampler(self.device, *fields.numbers(_SAMPLER))
            case Argument.IMAGE:
                self._is_lasting = False
                number = fields.u64()
                if number not in self._images:
                    raise ProtocolError(f"image {number} in a launch")
                return self._images[number]

    def _pointer(self, address: int, size: int) -> Array | None:
        if not address:
            return None
        below = self._memory.around(address)
        inside = below is not None and address < below.end
        name = below.name if below is not None and inside else f"the pointer {address:#x}"
        if not size:  # of an allocation whose address may be another's later
            self._is_lasting = False
            size = below.end - address if below is not None and inside else 0
        return Array.lent(self.device, address, size, name)

    def _passed(self, kernel: Kernel, arguments: list[object]) -> Iterator[str]:
        """What the buffers of a launch are, a line each."""
        for parameter, value in zip(kernel.args, arguments, strict=True):
            if isinstance(value, Array):
                owner = self._memory.around(value.address)
                name = owner.name if owner and value.address < owner.end else "no allocation"
                where = f"{value.nbytes} bytes at {value.address:#x}"
                yield f"argument {parameter.index} '{parameter.name}' is {name} ({where})"
            elif value is None:
                yield f"argument {parameter.index} '{parameter.name}' is the null pointer"

    def _text(self) -> bytes:
        """What kernels have printed since the last answer."""
        text, self._printed = "".join(self._printed), []
        return packed(text) if text else b""

    def _print(self, text: str) -> None:
        self._printed.append(text)

    # ---- images

    def _image(self, fields: Fields) -> Answer:
        number, order, type, kind, *sizes, address, pitch = fields.numbers(_IMAGE)
        if max(sizes) > _MOST_TEXELS or number in self._images:
            raise ProtocolError(f"image {number} of {sizes}")
        width, height, depth, layers = sizes
        format = images.format_name(order, type)
        shape = width, height, depth, layers
        if address:
            memory = self._pointer(address, 0)
            assert memory is not None
            made = images.of_memory(self.device, memory, format, kind, shape, pitch)
        else:
            channels = images.channels(order)
            made = images.made(self.device, f"#{number}", format, kind, shape, channels)
            self._owned.add(number)
        rows, slices = images.distances(made)
        self._images[number] = made
        size = made.surface.size
        return Status.SUCCESS, _MADE.pack(number, made.address, size, rows, slices)

    def _free_image(self, fields: Fields) -> Answer:
        number = fields.u64()
        image = self._images.pop(number, None)
        if image is not None and number in self._owned:
            self._owned.remove(number)
            image.free()
        return Status.SUCCESS, b""

    def _texel(self, fields: Fields) -> Answer:
        order, type, color = fields.u32(), fields.u32(), fields.data_bytes()
        if len(color) != 16:
            raise ProtocolError(f"a color of {len(color)} bytes")
        return Status.SUCCESS, packed(images.texel(order, type, color))

    # ---- what people are told

    def _note(self, fields: Fields) -> Answer:
        """A mistake in the program's calls."""
        mistake, status = _of(Mistake, fields.u32()), fields.u32()
        self._tell([misuse.finding(mistake, status, fields.text(), fields.text())])
        return Status.SUCCESS, b""

    def _failed(self, error: Exception, status: Status) -> Answer:
        text, is_typed = explained(error)
        self._record(Finding("error", text))
        self._say(f"eumu: {text}")
        if not is_typed:
            self._say("  this is a bug in eumu; EUMU_TRACEBACK=1 shows where")
        if self._options.traceback:
            sys.excepthook(type(error), error, error.__traceback__)
        self._fault()
        return status, self._text()

    def _record(self, finding: Finding) -> None:
        self._recorded += 1
        if self._recorded <= _KEPT:
            self._options.record(finding)

    def _fault(self) -> None:
        self._options.note_fault()
        if self._options.aborts:
            abort(self._program)

    def _tell(self, findings: Iterable[Finding]) -> None:
        """What a checked run found, each once, and no more than so many."""
        for finding in self._new.of(findings):
            if finding.severity is not Severity.NOTE:
                self._options.note_finding()
            self._record(finding)
            if len(self._new) <= _SHOWN:
                self._say(str(finding))

    def _say(self, text: str) -> None:
        if self._options.tells:
            say(text.encode("utf-8", "backslashreplace").decode())


_Number = TypeVar("_Number", Wanted, Form, Argument, AllocationUse, Mistake)


def _of(kind: type[_Number], number: int) -> _Number:
    try:
        return kind(number)
    except ValueError:
        raise ProtocolError(f"{number} is no {kind.__name__}") from None


def serve(program: ClProgram, options: ClOptions) -> None:
    """Answer a program, whose memory is mapped here, until it is gone.

    ProtocolError if it does not keep to the protocol.
    """
    service = _Service(SharedMemory(program.base, program.size), program.pid, options)
    with contextlib.suppress(BrokenPipeError):  # the program is gone
        for request, data in requests(program.peer):
            reply(program.peer, *service.answer(request, data))
    if service.profiles is not None and options.report is not None:
        from eumu.beside.report import say_where

        say_where(service.profiles, options.report, program.pid, options.status)
