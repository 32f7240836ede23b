"""H.264 from pixels, by the encoder that comes with PyAV (`pip install torcheer[video]`)."""

from __future__ import annotations

import importlib
import importlib.util
import struct
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy

from torcheer.errors import InputError
from torcheer.inspector.recording.colours import Pixels, channels

_QUANTISER: Final = 18  # hardly to be told from the original
_BT709: Final = 1
_SEQUENCE, _PICTURE = 7, 8  # kinds of unit in the stream
INSTALL: Final = "pip install 'torcheer[video]'"


class Coded(NamedTuple):
    """A frame as bytes, each unit with its length before it."""

    data: bytes
    is_key: bool


def is_installed() -> bool:
    return importlib.util.find_spec("av") is not None


class Encoder:
    """Frames of one size, each out as soon as it is in.

    With `keyframe_every=1` every frame stands for itself. One encoder can then serve many films, and frames
    can be taken out of a film later on. What the standard asks of such frames is that two in a row differ
    in a mark, which the encoder sets to 0 and 1 in turn: `mark` is the one that a film needs next.
    """

    def __init__(self, size: tuple[int, int], frames_per_second: float, keyframe_every: int = 1) -> None:
        try:
            self._av: Any = importlib.import_module("av")
            self._context: Any = self._av.CodecContext.create("libx264", "w")
            self._reformatter: Any = importlib.import_module("av.video.reformatter").VideoReformatter()
        except (ImportError, ValueError) as error:
            raise InputError(f"MP4 needs an encoder that is not here ({error}): {INSTALL}.") from None
        self._num_encoded = 0
        self._are_all_keys = keyframe_every == 1
        self._mark = 0
        context = self._context
        context.width, context.height = size
        context.pix_fmt = "yuv420p"
        rate = Fraction(frames_per_second).limit_denominator(1000)
        context.framerate, context.time_base = rate, 1 / rate
        context.gop_size = keyframe_every
        context.max_b_frames = 0
        context.thread_count = 1  # beside a training, cores are not ours to take
        context.flags |= self._av.codec.context.Flags.global_header
        context.colorspace = context.color_primaries = context.color_trc = _BT709
        context.options = {
            "preset": "ultrafast" if keyframe_every == 1 else "veryfast",
            "tune": "zerolatency",
            "qp": str(_QUANTISER),
            "forced-idr": "1",
            # Each frame says where it begins, and none is a key by chance.
            "x264-params": f"keyint={keyframe_every}:min-keyint={min(keyframe_every, 2)}:scenecut=0:aud=1",
        }
        context.open()
        self.decoder_setup = _decoder_setup(bytes(context.extradata))

    def encode(self, pixels: Pixels, mark: int) -> Coded:
        if self._are_all_keys and mark != self._mark:
            self._encode(numpy.zeros_like(pixels))  # a frame for nobody, and cheap
        return self._encode(pixels)

    def _encode(self, pixels: Pixels) -> Coded:
        try:
            return self._encoded(pixels)
        except self._av.FFmpegError as error:
            raise OSError(f"the encoder failed: {error}") from error

    def _encoded(self, pixels: Pixels) -> Coded:
        frame = self._av.VideoFrame.from_ndarray(channels(pixels), format="rgba")
        frame = self._reformatter.reformat(
            frame, format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG", interpolation="AREA"
        )
        frame.pts = self._num_encoded
        self._num_encoded += 1
        packets = self._context.encode(frame)
        coded = Coded(
            _with_lengths(b"".join(map(bytes, packets))), any(packet.is_keyframe for packet in packets)
        )
        if coded.is_key:
            self._mark ^= 1
        return coded


def _units(stream: bytes) -> list[bytes]:
    """The units of a stream in which a code stands before each."""
    parts = stream.split(b"\x00\x00\x01")[1:]
    return [part.rstrip(b"\x00") for part in parts]  # a unit ends with a bit that is set


def _with_lengths(stream: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(unit)) + unit for unit in _units(stream))


def _decoder_setup(extradata: bytes) -> bytes:
    """What a decoder must know before the first frame, as MP4 has it."""
    units = _units(extradata)
    sequence = next(unit for unit in units if unit[0] & 0x1F == _SEQUENCE)
    picture = next(unit for unit in units if unit[0] & 0x1F == _PICTURE)
    setup = bytes([1, *sequence[1:4], 0xFF, 0xE1]) + struct.pack(">H", len(sequence)) + sequence
    return setup + b"\x01" + struct.pack(">H", len(picture)) + picture
