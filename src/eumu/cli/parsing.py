"""The commands of the command line and their options."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Final

import eumu
from eumu.cli.campaign_options import CAMPAIGN_EPILOG, add_campaign
from eumu.cli.compare_options import BLAME_EPILOG, COMPARE_EPILOG, add_blame, add_compare
from eumu.cli.gpu_options import GPU_EPILOG, add_gpu, add_replay
from eumu.cli.options import RUN_EPILOG, add_checking, add_library, add_telling
from eumu.cli.words import BUILD_OPTIONS
from eumu.exec.forms import FORMS

_EPILOG: Final = """\
examples:
  eumu info examples/saxpy.bin
  eumu run examples/saxpy.bin --kernel saxpy --global 1024 --local 64 \\
      --arg x=arange:float32:1024 --arg y=zeros:float32:1024 --arg a=2.5 --save y=y.npy
  eumu run kernel.cl --device skl --global 64,64 --arg 0=@image.npy --arg 1=zeros:uint8:64x64
  eumu fmt kernel.visaasm
  eumu asm kernel.visaasm -o kernel.isa
  eumu dis kernel.isa
  eumu dis tests/kernels/bin/skl/saxpy.bin --kernel saxpy
  eumu explain lsc_load

exit status:
  0 success    1 the program is wrong or not supported, or a run has findings    2 wrong usage
  3 a fault at run time, or the time limit    130 interrupted

`eumu COMMAND --help` shows the options of a command."""


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of a command, or of all if there is none of that name: making all of them takes
    longer than `eumu fmt` of a kernel."""
    made = argparse.ArgumentParser(
        prog="eumu",
        description="Run Intel GPU kernels, as Intel's own compiler emits them, on a CPU.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"eumu {eumu.__version__}")
    commands = made.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    adders = _adders()
    for name in [command] if command in adders else adders:
        adders[name](commands)
    return made


_Commands = argparse._SubParsersAction  # the type has no public name


def _adders() -> dict[str, Callable[[_Commands[argparse.ArgumentParser]], None]]:
    """What adds each command, in the order of the help."""
    return {
        "run": _add_run,
        "compare": _add_compare,
        "blame": _add_blame,
        "build": _add_build,
        "demo": _add_demo,
        "info": _add_info,
        "check": _add_check,
        "fmt": _add_fmt,
        "asm": _add_asm,
        "dis": _add_dis,
        "explain": _add_explain,
        "isa": _add_isa,
        "lsp": _add_lsp,
        "state": _add_state,
        "commands": _add_commands,
        "gpu": _add_gpu,
        "icd": _add_icd,
        "replay": _add_replay,
        "campaign": _add_campaign,
    }


def _command(
    commands: _Commands[argparse.ArgumentParser], name: str, help: str, epilog: str = ""
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=epilog or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_program(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    parser.add_argument(
        "program",
        nargs=nargs,
        help="the compiler's ELF, vISA text (.visaasm) or object file (.isa), OpenCL C (.cl),"
        " SPIR-V (.spv)",
    )
    parser.add_argument(
        "--device", metavar="D", help="pvc, skl, apl, ...; an ELF file names its device"
    )
    parser.add_argument(
        BUILD_OPTIONS, metavar='"..."', default="", help="compiler options for a source"
    )
    parser.add_argument(
        "-g", dest="debug", action="store_true", help="build with debug information"
    )
    parser.add_argument(
        "-g0", dest="no_lines", action="store_true", help="build without line tables"
    )


def _add_run(commands: _Commands[argparse.ArgumentParser]) -> None:
    run = _command(commands, "run", "run a kernel and show its results", RUN_EPILOG)
    _add_program(run)
    run.add_argument(
        "--kernel", metavar="NAME", help="the kernel; required if the program has several"
    )
    add_library(run)
    _add_launch(run)
    run.add_argument(
        "--save",
        metavar="NAME=FILE",
        action="append",
        default=[],
        help="after the run, write an array to a .npy or an image to a .png file",
    )
    _add_engine(run)
    add_checking(run)
    run.add_argument(
        "-q", "--quiet", action="store_true", help="print only the kernel's own output"
    )
    _add_pictures(run)


def _add_launch(run: argparse.ArgumentParser) -> None:
    """Sizes and arguments."""
    size = "X[,Y,Z]"
    run.add_argument(
        "--global",
        dest="global_size",
        metavar=size,
        help="global size in work items; needed to run",
    )
    run.add_argument(
        "--local",
        dest="local_size",
        metavar=size,
        help="work items of a group, by default the required or a fitting size",
    )
    run.add_argument("--offset", metavar=size, default="0", help="the first global id")
    run.add_argument(
        "--arg", dest="args", metavar="NAME=VALUE", action="append", default=[], help="see below"
    )


def _add_engine(run: argparse.ArgumentParser) -> None:
    """What runs the kernel, and within which limits."""
    run.add_argument("--engine", choices=("jit", "interp"), help="by default jit if available")
    run.add_argument(
        "--dump",
        choices=FORMS,
        help="run nothing; show the kernel by source line as eumu's IR, LLVM's input, or machine"
        " code of this processor",
    )
    run.add_argument("--fuel", metavar="N", help="limit of the instructions of one thread")
    run.add_argument("--memory", metavar="MIB", help="device memory in MiB (4096)")
    run.add_argument(
        "--seed", metavar="N", default="0", help="seed of the scheduling of threads (0)"
    )
    run.add_argument(
        "--level",
        choices=("visa", "native"),
        default="visa",
        help="native: run the machine code, not the vISA",
    )
    run.add_argument(
        "--via",
        choices=("record", "commands"),
        default="record",
        help="commands: launch through a Gen9 command buffer",
    )


def _add_pictures(run: argparse.ArgumentParser) -> None:
    pictures = run.add_argument_group("reports of the run (on the interpreter)")
    pictures.add_argument(
        "--timeline", metavar="FILE.json", help="write a trace for Chrome or Perfetto"
    )
    pictures.add_argument(
        "--report",
        metavar="FILE",
        help="occupancy, lanes, memory, accuracy: HTML, or JSON for a name in .json",
    )
    pictures.add_argument("--part", metavar="P", help="the product: bxt-3x6, bxt-2x6, skl-gt2")
    pictures.add_argument("--pools", metavar="MAP", help="map of thread pools (MEDIA_POOL_STATE)")
    pictures.add_argument(
        "--l3", metavar="ROW", help="print L3 hit rates for this row of its tables"
    )


def _add_compare(commands: _Commands[argparse.ArgumentParser]) -> None:
    says = "run a kernel in all its forms and show where they first differ"
    compare = _command(commands, "compare", says, COMPARE_EPILOG)
    _add_program(compare)
    add_compare(compare)


def _add_blame(commands: _Commands[argparse.ArgumentParser]) -> None:
    says = "find the instruction at which two forms of a kernel, or two programs, begin to differ"
    blame = _command(commands, "blame", says, BLAME_EPILOG)
    _add_program(blame)
    add_blame(blame)


def _add_demo(commands: _Commands[argparse.ArgumentParser]) -> None:
    demo = _command(commands, "demo", "run the examples of the package, or copy them")
    demo.add_argument("--copy", metavar="DIR", help="copy them to DIR/examples")


def _add_info(commands: _Commands[argparse.ArgumentParser]) -> None:
    info = _command(
        commands, "info", "list a program's kernels, their arguments and their resources"
    )
    _add_program(info, nargs="?")
    info.add_argument(
        "--compilers", action="store_true", help="list the installed ocloc and their devices"
    )


def _add_check(commands: _Commands[argparse.ArgumentParser]) -> None:
    check = _command(commands, "check", "find errors and doubtful code in programs")
    check.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="vISA text (.visaasm), an object file (.isa), the compiler's ELF, OpenCL C (.cl)",
    )
    check.add_argument("--device", metavar="D", help="pvc by default; an ELF file names its device")
    add_telling(check, most="0")
    check.add_argument("--notes", action="store_true", help="show notes, too")
    check.add_argument(
        "--parity", action="store_true", help="report only what Intel's front end refuses"
    )
    check.add_argument(
        BUILD_OPTIONS, metavar='"..."', default="", help="compiler options for a source"
    )


def _add_fmt(commands: _Commands[argparse.ArgumentParser]) -> None:
    fmt = _command(commands, "fmt", "format vISA text, or list all its errors")
    fmt.add_argument("file", help="a .visaasm file, - for standard input")
    fmt.add_argument("-i", "--in-place", action="store_true", help="rewrite the file")
    fmt.add_argument(
        "--check", action="store_true", help="print nothing; exit status 1 if the format differs"
    )


def _add_asm(commands: _Commands[argparse.ArgumentParser]) -> None:
    asm = _command(commands, "asm", "assemble vISA text to an object file, or native text to code")
    asm.add_argument("file", help="a .visaasm file or native text, - for standard input")
    asm.add_argument(
        "--level", choices=("visa", "native"), default="visa", help="kind of the text (visa)"
    )
    asm.add_argument(
        "-o",
        "--output",
        metavar="OUT.isa",
        help="output file; by default beside the input, - for standard output",
    )
    _add_register_size(asm)


def _add_build(commands: _Commands[argparse.ArgumentParser]) -> None:
    build = _command(commands, "build", "compile OpenCL C or SPIR-V with Intel's compiler")
    build.add_argument("source", help="a .cl or .spv file")
    build.add_argument("--device", metavar="D", default="pvc", help="skl, dg2, bmg, ... (pvc)")
    build.add_argument(BUILD_OPTIONS, metavar='"..."', default="", help="compiler options")
    build.add_argument(
        "-o",
        "--output",
        metavar="OUT.bin",
        help="output file; by default beside the source, - for standard output",
    )


def _add_dis(commands: _Commands[argparse.ArgumentParser]) -> None:
    dis = _command(commands, "dis", "disassemble an object file or native code")
    dis.add_argument(
        "file", help="an .isa file, the compiler's ELF, or raw code; - for standard input"
    )
    dis.add_argument(
        "--level",
        choices=("visa", "native", "both"),
        help="native for raw code; for an ELF file native (default), visa, or both side by side",
    )
    dis.add_argument("--kernel", metavar="NAME", help="only this kernel of an ELF file")
    dis.add_argument(
        "-o", "--output", metavar="OUT.visaasm", help="output file; by default standard output"
    )
    _add_register_size(dis)


def _add_register_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--device",
        metavar="D",
        help="device whose register size &V[n] counts in (default: 32 bytes)",
    )


def _add_explain(commands: _Commands[argparse.ArgumentParser]) -> None:
    explain = _command(
        commands, "explain", "show the manual page of an instruction, or list all of them"
    )
    explain.add_argument("opcode", nargs="?", help="the mnemonic, such as lsc_load")
    explain.add_argument(
        "--level",
        choices=("visa", "native"),
        default="visa",
        help="native: a Gen9 instruction, or a rule for Gen9 code by its number",
    )


def _add_lsp(commands: _Commands[argparse.ArgumentParser]) -> None:
    lsp = _command(commands, "lsp", "run a language server for editors (docs/editor.md)")
    lsp.add_argument("--device", metavar="D", help="the device to check texts for (pvc)")
    lsp.add_argument(
        "--stdio",
        action="store_true",
        help="accepted for editors that pass it; eumu always uses stdio",
    )


def _add_isa(commands: _Commands[argparse.ArgumentParser]) -> None:
    isa = _command(commands, "isa", "list every vISA instruction: number, platforms, accuracy")
    isa.add_argument(
        "--format",
        choices=("text", "json", "textmate"),
        default="text",
        help="textmate: a grammar for syntax highlighting",
    )


def _add_state(commands: _Commands[argparse.ArgumentParser]) -> None:
    state = _command(commands, "state", "decode surface and sampler states in a file")
    state.add_argument(
        "file", help="states in the format of the hardware, such as a dumped state heap"
    )
    state.add_argument(
        "--as",
        dest="kind",
        choices=(
            *("surface", "sampler", "border", "binding-table", "header"),
            *("media-surface", "morphology", "convolve", "avs"),
        ),
        required=True,
    )
    state.add_argument("--offset", metavar="N", default="0", help="offset of the first byte (0)")
    state.add_argument("--count", metavar="N", help="number of states; by default all in the file")
    state.add_argument("--all", action="store_true", help="also show fields that are 0")


def _add_commands(commands: _Commands[argparse.ArgumentParser]) -> None:
    batch = _command(commands, "commands", "decode a Gen9 command buffer")
    batch.add_argument("file", help="the bytes of a command buffer")
    batch.add_argument("--offset", metavar="N", default="0", help="offset of the first byte (0)")
    batch.add_argument(
        "--base",
        metavar="ADDRESS",
        default="0",
        help="the address of the first command (0)",
    )


def _add_gpu(commands: _Commands[argparse.ArgumentParser]) -> None:
    says = "run an OpenCL, SYCL or Level Zero program on a virtual Intel GPU"
    add_gpu(_command(commands, "gpu", says, GPU_EPILOG))


def _add_icd(commands: _Commands[argparse.ArgumentParser]) -> None:
    _command(commands, "icd", "print the folder of eumu's OpenCL driver, for OCL_ICD_VENDORS")


def _add_replay(commands: _Commands[argparse.ArgumentParser]) -> None:
    add_replay(_command(commands, "replay", "repeat what `eumu gpu --dump` recorded"))


def _add_campaign(commands: _Commands[argparse.ArgumentParser]) -> None:
    says = "run many programs in several ways on many processes and machines"
    add_campaign(_command(commands, "campaign", says, CAMPAIGN_EPILOG))
