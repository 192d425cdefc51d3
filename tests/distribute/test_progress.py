"""The thread that runs started tasks, and the order of tasks."""

import threading

import pytest

from dualflow.distribute import progress


@pytest.fixture(params=[False, True], ids=["by who waits", "by the thread"])
def in_thread(request, monkeypatch):
    monkeypatch.setattr(progress.ProgressThread, "wanted", request.param)
    return request.param


def test_tasks_run_in_order(in_thread):
    seen = []
    tasks = [progress.start(lambda k=k: seen.append(k) or k * k) for k in range(50)]
    assert progress.run(lambda: list(seen)) == [*range(50)]
    assert [task.result() for task in reversed(tasks)] == [k * k for k in reversed(range(50))]


def test_result_waits_for_earlier_tasks(in_thread):
    seen = []
    tasks = [progress.start(lambda k=k: seen.append(k)) for k in range(9)]
    tasks[4].result()
    assert seen[:5] == [*range(5)] and (in_thread or len(seen) == 5)
    tasks[8].result()
    assert seen == [*range(9)]


def test_errors_belong_to_their_task(in_thread):
    bad = progress.start(lambda: 1 // 0)
    good = progress.start(lambda: progress.ProgressThread.here())
    assert good.result() in ([False, True] if in_thread else [False])
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            bad.result()


def test_progress_thread_runs_without_a_waiter(monkeypatch):
    monkeypatch.setattr(progress.ProgressThread, "wanted", True)
    done = threading.Event()
    progress.start(done.set)
    assert done.wait(30)


def test_ctrl_c_is_raised_in_the_waiting_thread(monkeypatch):
    monkeypatch.setattr(progress.ProgressThread, "wanted", False)

    def interrupted():
        raise KeyboardInterrupt

    progress.start(interrupted)
    late = progress.start(lambda: 3)
    with pytest.raises(KeyboardInterrupt):
        late.result()
    assert late.result() == 3


def test_tasks_from_several_threads(in_thread):
    seen, lock = [], threading.Lock()

    def work():
        for _ in range(40):
            with lock:
                number = len(started)
                started.append(progress.start(lambda number=number: seen.append(number)))
            started[number].result()

    started = []
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert seen == [*range(160)]
