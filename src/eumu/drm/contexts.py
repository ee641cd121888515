"""A hardware context: its submissions one after the other, on a thread of its own.

The engines take one batch at a time, whose objects are all the memory there is then; contexts take
turns.  A batch that stops at a semaphore lets the others go on and looks again.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final, Protocol

from eumu.beside.threads import start
from eumu.device.commands import CommandError, Stop
from eumu.drm.memory import DriverMemory
from eumu.drm.progress import Progress
from eumu.drm.protocol import ContextCreated, ContextDestroyed, Submission
from eumu.drm.record import Recorder
from eumu.errors import EumuError
from eumu.runtime.batches import BatchReport, CommandQueue
from eumu.runtime.device import Device

_POLL_S: Final = 0.0005  # how often a semaphore is looked at
MOST_THREADS: Final = 1 << 40  # of a command; a program may ask for hours of work, as of a GPU
MOST_COMMANDS: Final = 1 << 24  # of a batch, which for Level Zero is a whole command list
_NOTICED_S: Final = 1.5  # the driver looks for a hang twice a second


ForContext = ContextCreated | ContextDestroyed | Submission


class Reporter(Protocol):
    """Who is told what became of a submission."""

    def ran(self, submission: Submission, report: BatchReport, seconds: float) -> None: ...

    def failed(self, submission: Submission, error: Exception) -> None: ...


class HardwareContext:
    """Runs what is put into it, in order; `turn` is the lock of all contexts of the device."""

    def __init__(
        self,
        device: Device,
        memory: DriverMemory,
        turn: threading.Lock,
        progress: Progress,
        reporter: Reporter,
        make_queue: Callable[[Device], CommandQueue] = CommandQueue,
        recorder: Recorder | None = None,
    ) -> None:
        self._device, self._memory, self._turn = device, memory, turn
        self._progress, self._reporter, self._make_queue = progress, reporter, make_queue
        self._messages: queue.SimpleQueue[ForContext] = queue.SimpleQueue()
        self._recorder = recorder
        self._queue: CommandQueue | None = None
        self._hangs = False
        start(self._run)

    def put(self, message: ForContext) -> None:
        """Queue a message of this context."""
        self._messages.put(message)

    def _run(self) -> None:
        while True:
            match self._messages.get():
                case ContextCreated(context) | ContextDestroyed(context):
                    self._queue, self._hangs = None, False
                    if self._recorder is not None:
                        with self._turn:
                            self._recorder.reset(context)
                case Submission() as submission:
                    self._submit(submission)

    def _submit(self, submission: Submission) -> None:
        """One submission; whatever happens, it is done afterwards."""
        try:
            if self._hangs:
                self._hang(submission, begins=True)
            else:
                self._execute(submission)
        except Exception as error:  # a fault, or a mistake of eumu's: the program sees a GPU hang
            self._hangs = True
            self._reporter.failed(submission, error)
            self._hang(submission, begins=False)
        finally:
            self._progress.done(submission.context, submission.sequence)

    def _execute(self, submission: Submission) -> None:
        started = time.perf_counter()
        with self._turn:
            self._memory.bind(submission.objects)
            if self._queue is None:
                self._queue = self._make_queue(self._device)
            self._queue.invalidate()
            with self._recorded("submit", submission):
                report = self._queue.submit(submission.batch)
        while report.stop is Stop.SEMAPHORE:
            time.sleep(_POLL_S)
            with self._turn:
                self._memory.bind(submission.objects)
                with self._recorded("resume", submission, always=False):
                    more = self._queue.resume()
            report.add(more)
        self._reporter.ran(submission, report, time.perf_counter() - started)

    def _hang(self, submission: Submission, *, begins: bool) -> None:
        """Hang until the driver has noticed, then let the batch write what ends waits.

        Some of the driver's waits look for hangs, others only at memory.
        """
        self._progress.faulted(submission.context, submission.sequence)
        self._progress.wait_until_told(submission.context, _NOTICED_S)
        end = time.monotonic() + _NOTICED_S
        try:
            while self._abandon(submission, begins=begins) is Stop.SEMAPHORE:
                begins = False
                if time.monotonic() > end:
                    break
                time.sleep(_POLL_S)
        except (EumuError, CommandError):
            pass  # what was told already, most of the time
        except Exception as error:  # the context goes on: somebody waits for each submission
            self._reporter.failed(submission, error)

    def _abandon(self, submission: Submission, *, begins: bool) -> Stop:
        with self._turn:
            self._memory.bind(submission.objects)
            if self._queue is None:
                self._queue = self._make_queue(self._device)
            if begins:
                self._queue.begin(submission.batch)
            with self._recorded("begin and abandon" if begins else "abandon", submission):
                return self._queue.abandon().stop

    @contextlib.contextmanager
    def _recorded(
        self, step: str, submission: Submission, *, always: bool = True
    ) -> Iterator[None]:
        """Around a step of a batch: what it begins with and what it changes goes to the record."""
        recorder, queue = self._recorder, self._queue
        assert queue is not None
        if recorder is None or not recorder.begin(step, submission, always=always):
            yield
            return
        outcome, queue.ran = "fault", partial(recorder.threads_ran, submission)
        try:
            yield
            outcome = "fine"
        finally:
            queue.ran = None
            recorder.end(submission, outcome)
