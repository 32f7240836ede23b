"""Sound as a record: a WAV file of 16 bits a sample."""

from __future__ import annotations

import io
import math
import wave
from typing import Any

import numpy

from torcheer.errors import InputError
from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import Copied, real_numbers
from torcheer.run.records import AudioHead

_MAX_CHANNELS = 32
_MAX_RATE = 2**31 - 1  # a WAV file holds no more


def sound_of(value: Any) -> Copied:
    """Copy samples of shape (length,) or (channels, length): floats between -1 and 1, or int16."""
    copied = real_numbers(value, "the samples")
    shape = tuple(size for size in copied.array.shape if size != 1) or (1,)
    if len(shape) > 2 or 0 in shape or (len(shape) == 2 and shape[0] > _MAX_CHANNELS):
        raise InputError(f"shape {copied.array.shape} is no sound: give (length,) or (channels, length).")
    if copied.dtype != "int16" and copied.numbers().dtype.kind != "f":
        raise InputError(f"samples of {copied.dtype}: give floats between -1 and 1, or int16.")
    array = copied.array.reshape(shape)
    if copied.dtype == "int16" or not _goes_beyond(copied):
        return copied._replace(array=array)
    return copied._replace(array=array, note="cut off at -1 and 1")


def _goes_beyond(copied: Copied) -> bool:
    numbers = copied.numbers()
    return bool(numpy.nanmax(numbers, initial=0) > 1 or numpy.nanmin(numbers, initial=0) < -1)


def sample_rate_of(sample_rate: Any) -> float:
    rate = float(sample_rate)
    if not (math.isfinite(rate) and 1 <= rate <= _MAX_RATE):
        raise InputError(f"a sample rate of {sample_rate}: give samples per second, 44100 for example.")
    return rate


def encode_sound(copied: Copied, sample_rate: float) -> Encoded:
    samples = copied.array if copied.dtype == "int16" else _as_int16(copied)
    if samples.ndim == 1:
        samples = samples[None]
    num_channels, num_frames = samples.shape
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(num_channels)
        sound.setsampwidth(2)
        sound.setframerate(round(sample_rate))
        sound.writeframes(numpy.ascontiguousarray(samples.T, dtype="<i2").tobytes())
    head = AudioHead(
        sample_rate=sample_rate, num_frames=num_frames, num_channels=num_channels, encoding="wav"
    )
    return Encoded(head, file.getvalue())


def _as_int16(copied: Copied) -> numpy.typing.NDArray[numpy.int16]:
    numbers = copied.numbers()  # float32 or float64: half precision has no 32767
    cut = numpy.nan_to_num(numbers, nan=0.0, posinf=1.0, neginf=-1.0).clip(-1, 1)
    return (cut * 32767).astype(numpy.int16)
