"""Clips that players get wrong: what is played at a time is read off the pixels themselves.

Each picture carries its number in ten bars, so that what was written says what must be seen: the
picture with the greatest begin that is at most the time. No seeking is trusted: random times are
asked for alone and together.
"""

from fractions import Fraction

import av
import numpy as np
import pytest
from test_media import moving, number_of

from carve_stats.errors import InputError
from carve_stats.replay.evidence.media import decode_frames, video_seconds

RATE = 25


def write(
    path, codec, *, n, begins=None, offset=0, size=None, pix_fmt="yuv420p", sound=(),
    container_options=None, **options,
):  # fmt: skip
    """Write pictures 0 to n − 1; picture i begins at begins[i] ticks of 1/1000 s, or at i/25 s."""
    base = Fraction(1, RATE) if begins is None else Fraction(1, 1000)
    with av.open(str(path), "w", options=container_options or {}) as container:
        stream = container.add_stream(codec, rate=RATE, options=options)
        stream.width, stream.height = size or (192, 64)
        stream.pix_fmt = pix_fmt
        stream.codec_context.time_base = base
        heard = container.add_stream("aac", rate=48000) if sound else None
        for i in range(n):
            pixels = moving(i)
            if size is not None:  # more of the last column and row
                pixels = np.pad(pixels, ((0, size[1] - 64), (0, size[0] - 192), (0, 0)), "edge")
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24").reformat(format=pix_fmt)
            frame.pts, frame.time_base = offset + (i if begins is None else begins[i]), base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        if sound:
            first, last = (round(second * 48000 / 1024) for second in sound)
            for i in range(first, last):
                samples = av.AudioFrame(format="fltp", layout="stereo", samples=1024)
                for plane in samples.planes:
                    plane.update(bytes(plane.buffer_size))
                samples.sample_rate, samples.pts = 48000, i * 1024
                samples.time_base = Fraction(1, 48000)
                container.mux(heard.encode(samples))
            container.mux(heard.encode(None))
    return path


def played(begins, time):
    """The definition."""
    return max([i for i, begin in enumerate(begins) if begin <= time], default=0)


def linear(path):
    """The clip decoded from its start to its end: begins and numbers, in the order of showing."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        start = stream.start_time
        shown = sorted(
            (float((f.pts - (f.pts if start is None else start)) * stream.time_base),
             number_of(f.to_ndarray(format="rgb24")))
            for f in container.decode(stream)
        )  # fmt: skip
    return [begin for begin, _ in shown], [number for _, number in shown]


def check(path, begins, rng, *, numbers=None, count=6):
    """Times at random, at the ends, before and after: alone and together, in any order."""
    numbers = list(range(len(begins))) if numbers is None else numbers
    times = [-3.0, 0.0, begins[-1], begins[-1] + 0.001, begins[-1] + 500.0]
    times += rng.uniform(0, begins[-1], count).tolist()
    times += [begins[i] for i in rng.integers(0, len(begins), 4)]
    rng.shuffle(times)
    expected = [numbers[played(begins, time)] for time in times]
    together = decode_frames(path, times)
    assert [number_of(pixels) for _, pixels in together] == expected
    assert [begin for begin, _ in together] == [begins[played(begins, t)] for t in times]
    for time, number in zip(times, expected, strict=True):
        ((_, pixels),) = decode_frames(path, [time])
        assert number_of(pixels) == number, time


CLIPS = {
    "long gop": ("mp4", "libx264", dict(n=400, g="250", keyint_min="250", bf="3")),
    "long gop, mkv": ("mkv", "libx264", dict(n=400, g="250", keyint_min="250", bf="3")),
    "open gop": ("mp4", "libx264", dict(n=300, g="24", bf="3", **{"x264-params": "open-gop=1"})),
    "open gop, mkv": ("mkv", "libx264", dict(n=300, g="24", **{"x264-params": "open-gop=1"})),
    "hevc, open gop": ("mp4", "libx265", dict(
        n=150, g="24", **{"x265-params": "open-gop=1:log-level=none:pools=1"})),
    "hevc, 10 bits": ("mkv", "libx265", dict(
        n=60, pix_fmt="yuv420p10le", **{"x265-params": "log-level=none:pools=1"})),
    "10 bits without loss": ("mkv", "ffv1", dict(n=60, pix_fmt="yuv420p10le")),
    "vp9, hidden frames": ("webm", "libvpx-vp9", dict(
        n=150, g="50", **{"auto-alt-ref": "1", "lag-in-frames": "16", "cpu-used": "8",
                          "deadline": "realtime"})),
    "odd size": ("mp4", "libx264", dict(n=100, size=(193, 67), pix_fmt="yuv444p")),
    "odd size, chroma halved": ("mkv", "ffv1", dict(n=60, size=(193, 67))),
    "interlaced": ("mkv", "mpeg2video", dict(
        n=150, flags="+ildct+ilme", g="15", bf="2")),
    "late, with b-frames": ("mkv", "libx264", dict(n=200, offset=75, g="50", bf="3")),
    "late, mp4": ("mp4", "libx264", dict(n=200, offset=75, g="50", bf="3")),
    "fragments": ("mp4", "libx264", dict(
        n=200, g="25", bf="2",
        container_options={"movflags": "frag_keyframe+empty_moov+default_base_moof"})),
    "sound goes on": ("mp4", "libx264", dict(n=75, g="50", sound=(0, 9))),
    "sound begins before": ("mkv", "libx264", dict(n=100, offset=50, g="50", sound=(0, 6))),
    "sound begins after": ("mp4", "libx264", dict(n=150, g="50", sound=(2, 4))),
    "motion jpeg": ("avi", "mjpeg", dict(n=60, pix_fmt="yuvj420p")),
    "one picture": ("mp4", "libx264", dict(n=1)),
    "one picture, mkv": ("mkv", "mpeg4", dict(n=1)),
    "one picture, ts": ("ts", "mpeg2video", dict(n=1)),
    "two pictures": ("webm", "libvpx-vp9", dict(n=2, **{"cpu-used": "8"})),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CLIPS))
def test_the_picture_played_at_a_time(tmp_path, rng, name):
    suffix, codec, settings = CLIPS[name]
    clip = write(tmp_path / f"clip.{suffix}", codec, threads="1", **settings)
    begins, numbers = linear(clip)
    # The clip is what it should be, but for what a container's clock rounds.
    assert numbers == list(range(settings["n"]))
    np.testing.assert_allclose(begins, np.arange(settings["n"]) / RATE, atol=0.002)
    check(clip, begins, rng)
    assert video_seconds(clip) == pytest.approx(settings["n"] / RATE, abs=0.1)


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_variable_rate_with_pauses_of_minutes(tmp_path, rng, suffix):
    gaps = rng.choice([1, 17, 40, 333, 60_000], 150, p=[0.2, 0.3, 0.3, 0.15, 0.05])
    begins = [0, *np.cumsum(gaps).tolist()]
    clip = write(tmp_path / f"clip.{suffix}", "libx264", n=len(begins), begins=begins, g="40")
    check(clip, [begin / 1000 for begin in begins], rng)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_film_that_was_filmed_turned_is_upright(tmp_path, rng, quarters):
    clip = write(tmp_path / "clip.mp4", "libx264", n=80, g="30", bf="2")
    # ISO/IEC 14496-12, 8.3.2: (x, y) is shown at (ax + cy, bx + dy).
    cos, sin = [(1, 0), (0, 1), (-1, 0), (0, -1)][quarters]
    one = 1 << 16
    matrix = [one * cos, one * sin, 0, -one * sin, one * cos, 0, 0, 0, 1 << 30]
    data = bytearray(clip.read_bytes())
    at = data.index(b"tkhd") + 4 + 40
    data[at : at + 36] = b"".join(value.to_bytes(4, "big", signed=True) for value in matrix)
    clip.write_bytes(data)
    for time in rng.uniform(0, 3.2, 5):
        ((_, pixels),) = decode_frames(clip, [time])
        # Clockwise for the viewer; what was written is got back by turning it against the clock.
        assert pixels.shape == ((192, 64, 3) if quarters % 2 else (64, 192, 3))
        assert number_of(np.rot90(pixels, quarters)) == int(time * RATE)


def test_an_edit_list_that_skips_the_beginning(tmp_path, rng):
    clip = write(tmp_path / "clip.mp4", "mpeg4", n=200, g="50")
    data = bytearray(clip.read_bytes())
    # ISO/IEC 14496-12, 8.6.6: version and flags, one entry: duration, media time, rate.
    at = data.index(b"elst") + 4
    assert data[at : at + 8] == bytes([0, 0, 0, 0, 0, 0, 0, 1])
    with av.open(str(clip)) as container:
        tick = container.streams.video[0].time_base
    skipped = round(60 / RATE / tick)
    duration = int.from_bytes(data[at + 8 : at + 12], "big") * 140 // 200
    data[at + 8 : at + 12] = duration.to_bytes(4, "big")
    data[at + 12 : at + 16] = skipped.to_bytes(4, "big")
    clip.write_bytes(data)
    begins, numbers = linear(clip)
    assert numbers == list(range(60, 200))
    check(clip, begins, rng, numbers=numbers)


@pytest.mark.parametrize("where", ["front", "end"])
def test_an_mp4_file_that_was_cut_off(tmp_path, where):
    options = {"movflags": "faststart"} if where == "front" else None
    clip = write(
        tmp_path / "clip.mp4", "libx264", n=250, g="25", threads="1", container_options=options
    )
    with av.open(str(clip)) as container:
        places = [packet.pos for packet in container.demux() if packet.size]
    clip.write_bytes(clip.read_bytes()[: places[150]])
    if where == "end":  # the index is gone
        with pytest.raises(InputError, match=r"clip\.mp4: is no video") as caught:
            decode_frames(clip, [1.0])
        assert "\n" not in str(caught.value)
        return
    for time in (0.0, 1.0, 4.03):
        assert number_of(decode_frames(clip, [time])[0][1]) == int(time * RATE)
    for times in ([9.0], [1.0, 9.0], [50.0]):
        with pytest.raises(InputError, match=r"clip\.mp4: is cut off after") as caught:
            decode_frames(clip, times)
        assert "\n" not in str(caught.value)


def test_damage_in_the_middle_is_passed_over(tmp_path):
    clip = write(tmp_path / "clip.mkv", "mpeg4", n=250, g="25")
    with av.open(str(clip)) as container:
        places = [packet.pos for packet in container.demux() if packet.size]
    data = bytearray(clip.read_bytes())
    data[places[100] : places[110]] = bytes(places[110] - places[100])
    clip.write_bytes(data)
    for time in (0.0, 2.0, 3.5):
        assert number_of(decode_frames(clip, [time])[0][1]) == int(time * RATE)
    for time in (7.03, 9.5):
        ((begin, pixels),) = decode_frames(clip, [time])
        assert number_of(pixels) == int(time * RATE)
        assert begin == pytest.approx(int(time * RATE) / RATE, abs=0.002)
