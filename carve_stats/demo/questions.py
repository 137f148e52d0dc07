"""The demo's questions: what can be seen or read in the clips, and a few that need no frames.

Every question was written from the pictures. The few that anybody answers without looking
are there because such questions exist in every benchmark: their answers should not care
what happens to the frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["QUESTIONS", "Question"]


@dataclass(frozen=True, slots=True)
class Question:
    """A multiple-choice question about one clip.

    Parameters
    ----------
    id : str
        Unique among the questions.
    clip : str
        The clip's id.
    text : str
        The question.
    options : mapping of str to str
        Label to text, in order.
    correct : str
        The label of the right answer.
    seen : bool
        Whether the answer is seen in the clip; False where it is common knowledge.
    """

    id: str
    clip: str
    text: str
    options: Mapping[str, str]
    correct: str
    seen: bool = True


def _question(
    clip: str, name: str, text: str, options: tuple[str, ...], correct: str, seen: bool = True
) -> Question:
    labelled = dict(zip("ABCD", options, strict=True))
    return Question(f"{clip}-{name}", clip, text, labelled, correct, seen)


QUESTIONS: tuple[Question, ...] = (
    _question(
        "bunny",
        "animal",
        "Which animal comes out of the burrow?",
        ("a mouse", "a fox", "a sea lion", "a rabbit"),
        "D",
    ),
    _question(
        "bunny",
        "fur",
        "What colour is the fur of the animal?",
        ("orange", "grey", "black", "brown"),
        "B",
    ),
    _question(
        "bunny",
        "arms",
        "What does the animal do when it has come out?",
        (
            "it stretches its arms and yawns",
            "it jumps into water",
            "it picks a flower",
            "it digs a hole",
        ),
        "A",
    ),
    _question(
        "bunny",
        "food",
        "What does a rabbit like to eat?",
        ("coal", "stones", "carrots", "newspapers"),
        "C",
        seen=False,
    ),
    _question(
        "band",
        "session",
        "What is the name of the music session?",
        ("Abbey Road", "Spiral Sessions", "Tiny Desk", "Blue Note"),
        "B",
    ),
    _question(
        "band",
        "strings",
        "Which instrument do the musicians in front play?",
        ("harp", "violin", "electric guitar", "flute"),
        "C",
    ),
    _question(
        "band",
        "caption",
        "Which band does the caption name?",
        ("METALLICA", "COLDPLAY", "NIRVANA", "ANOKATO"),
        "D",
    ),
    _question(
        "band",
        "above",
        "Which instrument is filmed from above?",
        ("a drum kit", "a grand piano", "a church organ", "an accordion"),
        "A",
    ),
    _question(
        "band",
        "guitar",
        "How many strings does a guitar usually have?",
        ("one", "six", "three", "fifteen"),
        "B",
        seen=False,
    ),
    _question(
        "city",
        "lit",
        "What is lit up in the picture?",
        ("skyscrapers", "a beach", "a tent", "a forest"),
        "A",
    ),
    _question(
        "city",
        "time",
        "At what time of day was this filmed?",
        ("at breakfast", "in the afternoon", "at noon", "at night"),
        "D",
    ),
    _question(
        "city",
        "view",
        "From where does the camera look at the towers?",
        ("from under water", "from an aeroplane", "from the street below", "from a mountain"),
        "C",
    ),
    _question(
        "city",
        "capital",
        "What is the capital of France?",
        ("Lima", "Cairo", "Vienna", "Paris"),
        "D",
        seen=False,
    ),
    _question(
        "airport",
        "gate",
        "Which gate does the flight leave from?",
        ("gate A3", "gate C7", "gate B12", "gate D20"),
        "C",
    ),
    _question(
        "airport",
        "boarding",
        "Which city is the flight that is now boarding going to?",
        ("LISBON", "MADRID", "ROME", "OSLO"),
        "A",
    ),
    _question(
        "airport",
        "drink",
        "Which drink stands on the table?",
        ("milk", "espresso coffee", "orange juice", "beer"),
        "B",
    ),
    _question(
        "airport",
        "desk",
        "What is desk 5 for?",
        ("customs", "taxi bookings", "lost luggage", "ticket sales"),
        "C",
    ),
    _question(
        "launch",
        "pad",
        "What stands on the launch pad?",
        ("a rocket", "a sailing ship", "a piano", "a bus"),
        "A",
    ),
    _question(
        "launch",
        "mission",
        "What is the name of the mission?",
        ("ROSETTA", "DSCOVR", "VOYAGER", "APOLLO"),
        "B",
    ),
    _question(
        "launch",
        "person",
        "Who smiles into the camera?",
        ("a football player", "a cook", "a police officer", "an astronaut"),
        "D",
    ),
    _question(
        "launch",
        "countdown",
        "How much time does the countdown show?",
        ("two days", "one hour", "ten minutes", "five seconds"),
        "C",
    ),
    _question(
        "launch",
        "suit",
        "What colour is the suit of the person?",
        ("green", "blue", "black", "orange"),
        "D",
    ),
    _question(
        "shelter",
        "pet",
        "Which pet is shown close up?",
        ("a tabby cat", "a hamster", "a parrot", "a dog"),
        "A",
    ),
    _question(
        "shelter",
        "silhouette",
        "Which animal is shown as a black silhouette?",
        ("a camel", "a horse", "an elephant", "a goose"),
        "B",
    ),
    _question(
        "shelter",
        "day",
        "On which day is the animal shelter open?",
        ("on Monday", "on Saturday", "on Wednesday", "on Thursday"),
        "B",
    ),
    _question(
        "shelter",
        "close",
        "What are visitors asked to close?",
        ("the refrigerator", "the umbrella", "the window", "the garden gate"),
        "D",
    ),
    _question(
        "shelter",
        "legs",
        "How many legs does a cat have?",
        ("two legs", "no legs", "four legs", "six legs"),
        "C",
        seen=False,
    ),
    _question(
        "museum",
        "rows",
        "Which objects are laid out in rows?",
        ("coins", "hats", "shoes", "violins"),
        "A",
    ),
    _question(
        "museum",
        "room",
        "In which room are the ancient coins?",
        ("room 15", "room 11", "room 2", "room 7"),
        "D",
    ),
    _question(
        "museum",
        "admission",
        "How much is the admission?",
        ("12 euros", "4 euros", "8 euros", "20 euros"),
        "A",
    ),
    _question(
        "museum",
        "man",
        "What does the man in the dark coat look into?",
        ("a microscope", "a book", "a camera on a tripod", "a mirror"),
        "C",
    ),
    _question(
        "cafe",
        "day",
        "On which day is the cafe closed?",
        ("Tuesday", "Monday", "Friday", "Sunday"),
        "B",
    ),
    _question(
        "cafe",
        "cake",
        "How much does the cheesecake cost?",
        ("9 euros", "5 euros", "7 euros", "3 euros"),
        "B",
    ),
    _question(
        "cafe",
        "name",
        "What is the name of the cafe?",
        ("RIVIERA", "CENTRAL", "AURORA", "MOZART"),
        "C",
    ),
    _question(
        "cafe",
        "wall",
        "What is the surface with the pale joints made of?",
        ("bricks", "bamboo", "glass", "cloth"),
        "A",
    ),
    _question(
        "road",
        "limit",
        "Which speed limit is displayed?",
        ("speed limit 90", "speed limit 30", "speed limit 50", "speed limit 70"),
        "D",
    ),
    _question(
        "road",
        "train",
        "Where does the next train go?",
        ("MADRID", "BERLIN", "PARIS", "LONDON"),
        "B",
    ),
    _question(
        "road",
        "street",
        "Which street should drivers use?",
        ("Station Road", "Mill Lane", "Church Street", "Bridge Street"),
        "D",
    ),
    _question(
        "road",
        "ground",
        "What covers the ground?",
        ("snow", "autumn leaves", "gravel", "a carpet"),
        "C",
    ),
    _question(
        "clinic",
        "doctor",
        "What is the name of the doctor?",
        ("Martin", "Rossi", "Schmidt", "Garcia"),
        "A",
    ),
    _question(
        "clinic",
        "room",
        "Which room should the next patient go to?",
        ("room 550", "room 317", "room 101", "room 204"),
        "D",
    ),
    _question(
        "clinic",
        "pharmacy",
        "On which floor is the pharmacy?",
        ("second floor", "ground floor", "roof terrace", "fifth floor"),
        "A",
    ),
    _question(
        "clinic",
        "picture",
        "What does the round red picture show?",
        ("a traffic light", "the inside of an eye", "a sunset", "a tomato"),
        "B",
    ),
    _question(
        "clinic",
        "eyes",
        "How many eyes does a person have?",
        ("none", "five", "two", "nine"),
        "C",
        seen=False,
    ),
    _question(
        "lecture",
        "topic",
        "What is the lecture about?",
        ("the deep sea", "the human brain", "French cooking", "the night sky"),
        "D",
    ),
    _question(
        "lecture", "exam", "When is the exam?", ("2 May", "9 June", "30 October", "17 July"), "B"
    ),
    _question(
        "lecture",
        "dots",
        "What are the small bright spots in the dark picture?",
        ("snowflakes", "fireworks", "galaxies", "fish"),
        "C",
    ),
    _question(
        "lecture",
        "orbit",
        "What goes around the Earth once a month?",
        ("the Moon", "Mars", "Jupiter", "the Sun"),
        "A",
        seen=False,
    ),
)
