"""A board on which images and samplers are made; their rooms are imported for the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from eumu.runtime.array import Array
from eumu.runtime.board import Board

if TYPE_CHECKING:
    from eumu.runtime.images import Image
    from eumu.runtime.media import MediaImage, MediaSampler
    from eumu.runtime.samplers import Sampler


class ImageBoard(Board):
    """See :class:`~eumu.runtime.device.Device`."""

    def image(
        self,
        data: ArrayLike | tuple[int, ...],
        *,
        format: str = "RGBA8_UNORM",
        kind: str | None = None,
        layers: int | None = None,
        levels: int | Sequence[ArrayLike] = 1,
        tiling: str = "linear",
        samples: int = 1,
        swizzle: str = "RGBA",
        counter: Array | int | None = None,
        name: str = "",
        access: str = "rw",
    ) -> Image:
        """An image: a copy of `data`, or zeros if `data` is a shape.

        Shapes are (w[, c]), (h, w[, c]) and (d, h, w[, c]); the channels are the last axis if the
        format has several of one size.  Elements have the type that the format stores, or are
        floats that eumu converts.  With `layers` the first axis is the layers of an array, with
        `kind="cube"` the faces.  `levels` is the number of mip levels, or the data of the levels
        below the first.  `tiling` is "linear", "x" or "y".  `counter` is the append counter: a
        start value, or the `counter` of another image.  `access` is what kernels may do, "rw", "r"
        or "w"; anything else is a fault.

        >>> Device("skl").image(np.zeros((4, 8, 4), np.uint8), format="RGBA8_UNORM").shape()
        (4, 8, 4)
        """
        from eumu.runtime.images import make_image

        label = self.next_label("image", name)
        made = make_image(
            self,
            data,
            format,
            kind=kind,
            layers=layers,
            levels=levels,
            tiling=tiling,
            samples=samples,
            swizzle=swizzle,
            name=label,
            is_named=bool(name),
            counter=counter,
            access=access,
        )
        self.origins.note(made.address)
        return made

    def sampler(
        self,
        *,
        normalized: bool = True,
        address: str = "clamp_to_edge",
        filter: str = "nearest",
        **more: Any,
    ) -> Sampler:
        """A sampler: how coordinates between texels and outside of an image are read.

        `address` is none, clamp_to_edge, clamp_to_border, repeat, mirrored_repeat …, `filter`
        nearest, linear or anisotropic.  More: `mag_filter`, `mip_filter`, `lod` (least,
        greatest), `lod_bias`, `border` (four channels), `compare`, `anisotropy`, `reduction`.
        """
        from eumu.runtime.samplers import make_sampler

        return make_sampler(normalized=normalized, address=address, filter=filter, **more)

    def media_image(
        self,
        data: ArrayLike,
        *,
        format: str,
        address: str = "clamp",
        tiling: str = "linear",
        name: str = "",
    ) -> MediaImage:
        """An image for the media sampler (`avs`, `va`): a copy of `data`.

        `format` is a name of MEDIA_SURFACE_STATE, such as Y8_UNORM_VA, Y16_SNORM, Y1_UNORM (pixels
        that are 0 or not), PLANAR_420_8; `address` outside the image is "clamp" or "mirror".
        """
        from eumu.runtime.media import make_media_image

        label = self.next_label("image", name)
        return make_media_image(self, data, format, address, tiling, label)

    def media_sampler(self, **what: Any) -> MediaSampler:
        """The state of a media sampler, from exactly one of these parameters.

        `convolve`: coefficients [rows, columns] from -8 to 8; `line`: up to 16 of them; both with
        `scale_down` (a shift) and `coefficient_bits` (8 or 16).  `places`: the pixels around one
        that erode, dilate and minmaxfilter read.  `phases`: the scaler's coefficients [32, 8] or
        [2, 32, 8] (along rows, along columns), with `chroma` [32, 4], `taps` and `shuffle`.
        """
        from eumu.runtime.media import make_media_sampler

        return make_media_sampler(**what)
