"""Frozen trajectories: what the agent retrieved and answered when it first saw a question.

A trajectories file is JSONL, one question a line::

    {"question_id": "q1", "video_id": "v1", "question": "Which animal comes out?",
     "options": {"A": "a rabbit", "B": "a fox"}, "answer": "A", "correct": "A",
     "evidence": [{"id": "0", "frames": ["frames/q1-0.jpg"], "times": [12.0],
                   "start": 12.0, "end": 13.0, "query": "animal", "text": null}],
     "frozen": {"anything": "the agent needs to answer again"}}

`question_id` and `answer` are needed. An item of evidence holds a text, or paths of frames,
or ``"video": "clip.mp4"`` with `times`; paths are relative to the media root.
"""
