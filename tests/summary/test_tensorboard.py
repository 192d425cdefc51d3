"""TensorBoard reads the written files: by its routes, and in a browser if available."""

import json
import time
import urllib.parse
import urllib.request

import pytest

import dualflow as df
import tests.summary.events  # noqa: F401  skips without the package
from tests.summary.browser import CHROMIUM, Browser


class Server:
    """TensorBoard on the loopback interface, in this process."""

    def __init__(self, logdir):
        from tensorboard import program

        board = program.TensorBoard()
        board.configure(argv=["tensorboard", "--logdir", str(logdir), "--host", "127.0.0.1",
                              "--port", "0", "--load_fast", "false"])
        self.url = board.launch()

    def get(self, path, **query):
        text = urllib.parse.urlencode(query)
        with urllib.request.urlopen(f"{self.url}{path}?{text}", timeout=20) as answer:
            return answer.read()

    def json(self, path, **query):
        return json.loads(self.get(path, **query))


def program():
    """Return a training step with a loop, a branch and summaries."""
    w = df.Variable(df.random.stateless_normal([4, 3], seed=[1, 2]), name="w")

    @df.function
    def train(x, step):
        with df.GradientTape() as tape:
            with df.name_scope("model"):
                y = df.nn.relu(x @ w)
            with df.name_scope("loss"):
                loss = df.reduce_mean(y * y)
        df.summary.scalar("loss", loss, step=step)
        if step % 2 == 0:
            df.summary.histogram("w", w, step=step)
        w.assign_sub(tape.gradient(loss, w))
        return loss

    return train


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logs")
    train, x = program(), df.ones([8, 4])
    with df.summary.create_file_writer(logdir / "train").as_default():
        df.summary.trace_on(profiler=True)
        for step in range(4):
            train(x, df.constant(step))
        df.summary.trace_export("train", step=0)
        df.summary.graph(train.get_concrete_function(x, df.constant(0)))
        df.summary.image("noise", df.random.stateless_uniform([1, 4, 5, 3], seed=[1, 2]), step=0)
        df.summary.text("note", "**bold**", step=0)
    server = Server(logdir)
    end = time.monotonic() + 20
    while server.json("data/runs") != ["train"] and time.monotonic() < end:
        time.sleep(0.05)
    return server


def test_graph_routes(board):
    info = board.json("data/plugin/graphs/info")["train"]
    assert info["run_graph"] is True
    assert info["tags"]["train"]["op_graph"] and not info["tags"]["train"]["profile"]
    assert info["tags"]["train/optimized"]["op_graph"] and (
        info["tags"]["train/optimized"]["profile"])
    for query in ({}, {"tag": "train"}):
        text = board.get("data/plugin/graphs/graph", run="train", **query).decode()
        assert 'name: "model/relu"' in text and 'name: "gradients/relu_grad"' in text
        assert 'input: "^loss_1"' in text       # the histogram's branch follows the scalar
    after = board.get("data/plugin/graphs/graph", run="train", tag="train/optimized").decode()
    assert 'op: "matmul_cluster"' in after and 'op: "relu"' not in after
    times = board.get("data/plugin/graphs/run_metadata", run="train", tag="train/optimized")
    assert b'node_name: "model/relu"' in times and b"all_end_rel_micros" in times


def test_scalar_routes(board):
    scalars = board.json("data/plugin/scalars/scalars", run="train", tag="loss")
    assert [step for _, step, _ in scalars] == [0, 1, 2, 3]
    assert scalars[0][2] > scalars[3][2]
    histograms = board.json("data/plugin/histograms/histograms", run="train", tag="w")
    assert [step for _, step, _ in histograms] == [0, 2]
    (image,) = board.json("data/plugin/images/images", run="train", tag="noise", sample=0)
    with urllib.request.urlopen(
            f"{board.url}data/plugin/images/individualImage?{image['query']}") as answer:
        assert answer.read()[:4] == b"\x89PNG"
    (note,) = board.json("data/plugin/text/text", run="train", tag="note")
    assert "<strong>bold</strong>" in note["text"]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_in_a_browser(board, tmp_path):
    """The Graphs tab draws the scopes, and the Scalars tab shows the tags."""
    with Browser(f"{board.url}#graphs", tmp_path) as page:
        words = ["Main Graph", "model", "loss", "gradients", "train"]
        shown = page.text_with(words)
        assert [word for word in words if word not in shown] == []
        page.run("location.hash = 'scalars'")
        assert "loss" in page.text_with(["Smoothing", "loss"])
