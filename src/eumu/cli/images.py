"""Images and samplers on the command line, and pictures in files."""

from __future__ import annotations

import struct
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

import eumu
from eumu.cli.status import UsageError
from eumu.errors import ToolMissing, shortened
from eumu.writing import replacing

if TYPE_CHECKING:
    from eumu.runtime.images import Image
    from eumu.runtime.samplers import Sampler

_KINDS: Final = {
    "image1d_t": {"kind": "1d"},
    "image1d_buffer_t": {"kind": "buffer"},
    "image2d_t": {"kind": "2d"},
    "image3d_t": {"kind": "3d"},
}
# The format of an array without one: element type and channels.
_FORMATS: Final = {
    ("uint8", 4): "RGBA8_UNORM",
    ("uint8", 1): "R8_UNORM",
    ("uint16", 4): "RGBA16_UNORM",
    ("uint16", 1): "R16_UNORM",
    ("float16", 4): "RGBA16_FLOAT",
    ("float32", 4): "RGBA32_FLOAT",
    ("float32", 1): "R32_FLOAT",
    ("int32", 1): "R32_SINT",
    ("uint32", 1): "R32_UINT",
}
_DIMENSIONS: Final = {"image1d_t": 1, "image1d_buffer_t": 1, "image2d_t": 2, "image3d_t": 3}


def image(device: eumu.Device, parameter: eumu.Parameter, text: str) -> Image:
    """`@photo.png[:FORMAT]`, `@in.npy[:FORMAT]` or `image:FORMAT:WIDTHxHEIGHT[xDEPTH]`."""
    more: dict[str, Any] = _KINDS.get(parameter.type_name, {})
    option = f"--arg {parameter.name}={text}"
    if text.startswith("image:"):
        _, format, *rest = text.split(":")
        if len(rest) != 1 or not all(n.isdecimal() for n in rest[0].split("x")):
            raise UsageError(
                f"{option}: the form is image:FORMAT:SHAPE, as image:RGBA8_UNORM:64x48"
            )
        return _empty(device, parameter, format, [int(n) for n in rest[0].split("x")], more)
    if not text.startswith("@"):
        raise UsageError(
            f"{option}: {parameter.name} is an image; give @photo.png, @in.npy or"
            " image:RGBA8_UNORM:WIDTHxHEIGHT"
        )
    path, _, format = text[1:].partition(":")
    values = _read(path)
    dimensions = _DIMENSIONS.get(parameter.type_name, values.ndim)
    channels = values.shape[-1] if values.ndim > dimensions else 1
    format = format or _FORMATS.get((values.dtype.name, channels), "")
    if not format:
        raise UsageError(
            f"{option}: {values.dtype} with {channels} channels has no format of its own;"
            " add one, as in @in.npy:RG32_FLOAT"
        )
    return device.image(values, format=format, name=parameter.name, **more)


def _empty(
    device: eumu.Device,
    parameter: eumu.Parameter,
    format: str,
    sizes: list[int],
    more: dict[str, Any],
) -> Image:
    """An image of zeros; sizes are width, height, depth."""
    from eumu.device.surfaces.formats import texel_format
    from eumu.runtime.image_layout import Layout, surface_format

    items = Layout.of(texel_format(surface_format(format))).items
    shape = (*reversed(sizes), *([items] if items > 1 else []))
    return device.image(shape, format=format, name=parameter.name, **more)


def sampler(device: eumu.Device, parameter: eumu.Parameter, text: str) -> Sampler:
    """`sampler:FILTER:ADDRESS[:unnormalized]`."""
    word, *parts = text.split(":")
    if word != "sampler" or len(parts) not in (2, 3) or parts[2:] not in ([], ["unnormalized"]):
        raise UsageError(
            f"--arg {parameter.name}={text}: the form is sampler:linear:repeat[:unnormalized]"
        )
    return device.sampler(normalized=len(parts) == 2, filter=parts[0], address=parts[1])


def save_array(path: str, values: NDArray[Any]) -> None:
    """Write a .npy file."""
    with replacing(path) as file:
        np.save(file, values)


def save(path: str, value: Image) -> None:
    """Write an image: a picture if the file is called so, else a .npy file."""
    pixels = value.numpy()
    if Path(path).suffix.lower() == ".npy":
        save_array(path, pixels)
        return
    if pixels.dtype != np.uint8:
        pixels = np.rint(np.clip(value.texels().astype(np.float32), 0, 1) * 255).astype(np.uint8)
    letters = "".join(c.name for c in value.format.channels)
    if letters == "BGRA":
        pixels = pixels[..., [2, 1, 0, 3]]
    try:
        _pillow().fromarray(pixels).save(path)
    except (ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: {value} cannot be written as a picture ({error})") from None


def _read(path: str) -> NDArray[Any]:
    """The pixels of a picture as RGBA, or the array of a .npy file."""
    if Path(path).suffix.lower() == ".npy":
        return read_npy(path)
    _check_file(path)
    pillow = _pillow()
    try:
        with warnings.catch_warnings(), pillow.open(path) as picture:
            warnings.simplefilter("ignore")  # large pictures are what some want to read
            return np.asarray(picture.convert("RGBA"))
    except (*_DAMAGED, pillow.DecompressionBombError) as error:
        raise UsageError(f"{path}: not a picture ({error})") from None


# What the libraries that read pictures and arrays raise for files that are none.
_DAMAGED: Final = (
    *(OSError, ValueError, EOFError, SyntaxError, TypeError, LookupError, OverflowError),
    *(MemoryError, RecursionError, struct.error, zlib.error, zipfile.BadZipFile, AttributeError),
    tokenize.TokenError,  # NumPy reads headers as Python text, once more if they are none
)


def read_npy(path: str) -> NDArray[Any]:
    """The array of a .npy file."""
    _check_file(path)
    try:
        array = np.load(path, allow_pickle=False)
    except _DAMAGED as error:
        raise UsageError(f"{path}: not a .npy file ({error})") from None
    if not isinstance(array, np.ndarray):
        raise UsageError(f"{path}: an archive of several arrays; a .npy file is needed")
    return array


def _check_file(path: str) -> None:
    if not Path(path).is_file():
        raise UsageError(f"{shortened(path)}: no such file")


def _pillow() -> Any:
    try:
        from PIL import Image as pillow
    except ImportError:
        raise ToolMissing("pictures need Pillow: pip install 'eumu[pictures]'") from None
    return pillow
