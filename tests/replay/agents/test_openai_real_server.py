"""The `openai` agent and a real server: llama.cpp, which reads pictures, seeds and temperatures."""

import asyncio
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import llama_server
import numpy as np
import pytest
from openai_runs import item, picture, pictured_questions, request, run

from carve_stats.replay.agents import load_agent
from carve_stats.replay.store import RunStore
from carve_stats.replay.trajectories import write_trajectories

pytestmark = pytest.mark.slow

ARMS = ("self", "sham", "destroy")
PROMPT = "Describe the pictures."


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The address of the server, which ends with the tests of this file."""
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, llama_server.__file__, str(folder)]
    with (
        open(folder / "log.txt", "w") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        address = process.stdout.readline().strip()
        assert address.startswith("http"), Path(folder, "log.txt").read_text()
        yield address + "/v1"
        process.stdin.close()
        process.wait(timeout=60)


def agent(server, **options):
    return load_agent("openai", model="smollm2", base_url=server, max_tokens=6, **options)


def replies(asked, *requests):
    async def scenario():
        return [await asked(one) for one in requests]

    return asyncio.run(scenario())


def seen(*seeds, text=PROMPT, seed=7):
    frames = [picture(s, side=64).data for s in seeds]
    return request(question=text, options={}, evidence=(item(frames=frames),), seed=seed)


def test_other_pictures_change_the_reply_and_the_same_do_not(server):
    told = replies(
        agent(server, temperature=0),
        *(seen(1), seen(1), seen(2), replace(seen(1), seed=8), seen(1, 2)),
    )
    texts = [reply.text for reply in told]
    assert texts[0] == texts[1] == texts[3]
    assert texts[2] != texts[0]
    tokens = [reply.usage["prompt_tokens"] for reply in told]
    # Each patch of a picture is a token.
    assert tokens[4] - tokens[0] >= (llama_server.IMAGE // llama_server.PATCH) ** 2
    assert len(set(tokens[:4])) == 1
    assert {reply.from_cache for reply in told} == {None}
    assert all(reply.transport[0]["system_fingerprint"] for reply in told)


def test_the_seed_of_a_replay_decides_its_reply(server):
    seeds = [1, 2, 2**53 - 1]
    asked = agent(server, temperature=1)
    first = [reply.text for reply in replies(asked, *(seen(1, seed=s) for s in seeds))]
    again = [reply.text for reply in replies(asked, *(seen(1, seed=s) for s in seeds))]
    assert first == again
    assert len(set(first)) > 1


def test_a_frozen_conversation_with_pictures_is_answered(server):
    frozen = {"messages": [
        {"role": "system", "content": "You watch videos."},
        {"role": "user", "content": [
            {"type": "image_url", "image_url": "evidence:0"},
            {"type": "text", "text": PROMPT},
        ]},
    ]}  # fmt: skip
    (reply,) = replies(agent(server, temperature=0), replace(seen(1), frozen=frozen))
    assert reply.text
    assert reply.transport[0]["status"] == 200


def test_a_run_shows_the_server_all_three_conditions(server, tmp_path):
    done = run(agent(server, temperature=1.0), pictured_questions(tmp_path), tmp_path, workers=2)
    assert done.status.done == 12
    assert [record.key[1] for record in done.records].count("destroy") == 4
    for record in done.records:
        assert record.status != "transport_error"
        assert record.usage["prompt_tokens"] > 2 * (llama_server.IMAGE // llama_server.PATCH) ** 2
        assert [entry["status"] for entry in record.transport] == [200]
    frames = {record.evidence_sha256 for record in done.records}
    assert len(frames) == 2 * (1 + 2 + 2)


def test_the_command_line_runs_and_resumes_it(server, tmp_path, command):
    write_trajectories(tmp_path / "trajectories.jsonl", pictured_questions(tmp_path, n=1))
    (tmp_path / "run.toml").write_text(
        f"""
        [run]
        store = "run"
        seed = 3
        k = 1
        workers = 2
        [input]
        trajectories = "trajectories.jsonl"
        [agent]
        use = "openai"
        model = "smollm2"
        base_url = {json.dumps(server)}
        temperature = 1.0
        max_tokens = 8
        extra = {{ top_p = 0.9 }}
        """
    )
    command("replay", str(tmp_path / "run.toml"))
    command("replay", str(tmp_path / "run.toml"), "--k", "2")
    run_store = RunStore.load(tmp_path / "run")
    records = list(run_store.records())
    assert sorted(record.key for record in records) == sorted(
        ("q0", arm, repetition, 0) for arm in ARMS for repetition in (0, 1)
    )
    assert run_store.plan.agent["stochastic"] is True
    assert all(np.isfinite(record.usage["completion_tokens"]) for record in records)
