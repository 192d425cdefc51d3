"""Restoring before all objects exist: values are assigned when objects are attached."""

import copy
import gc
import pickle
import weakref

import pytest

import dualflow as df
from dualflow import errors, modules
from dualflow.io import content


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "ckpt")


class Dense(df.Module):
    """A layer that creates its variables when it is first called."""

    def __init__(self, n):
        super().__init__()
        self.n, self.w = n, None

    def __call__(self, x):
        if self.w is None:
            self.w = df.Variable(df.zeros([x.shape[-1], self.n]))
            self.b = df.Variable(df.zeros([self.n]))
        return x @ self.w + self.b


class Net(df.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Dense(3), Dense(2)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def saved_net(prefix, steps=2):
    net, optimizer = Net(), df.optimizers.Adam(0.1)
    net(df.ones([1, 4]))
    for k, v in enumerate(net.variables):
        v.assign(df.random.normal(v.shape, seed=k))
    for _ in range(steps):
        optimizer.minimize(lambda: df.reduce_sum(net(df.ones([1, 4])) ** 2), net.variables)
    return net, optimizer, df.train.Checkpoint(net=net, optimizer=optimizer).save(prefix)


@pytest.mark.parametrize("traced", [False, True])
def test_variables_are_restored_when_they_are_created(prefix, traced):
    net, optimizer, path = saved_net(prefix)
    again, other = Net(), df.optimizers.Adam(0.5)
    checkpoint = df.train.Checkpoint(net=again, optimizer=other)
    status = checkpoint.restore(path)
    assert other.iterations.item() == 2
    with pytest.raises(AssertionError, match=r"not used: net/layers/0/b, .*optimizer/slots/m/net"):
        status.assert_consumed()
    status.assert_existing_objects_matched().assert_nontrivial_match().expect_partial()
    f = df.function(again) if traced else again
    x = df.ones([1, 4])
    assert f(x).tolist() == net(x).tolist()
    for one, a in ((net, optimizer), (again, other)):
        a.minimize(lambda one=one: df.reduce_sum(one(x) ** 2), one.trainable_variables)
    assert [v.tolist() for v in again.variables] == [v.tolist() for v in net.variables]
    status.assert_consumed()
    assert not any(ref() == status._restoration.update for ref in modules.waiting)


def test_the_checkpoint_object_may_be_temporary(prefix):
    net, _, path = saved_net(prefix)
    again = Net()
    df.train.Checkpoint(net=again).restore(path).expect_partial()
    gc.collect()
    x = df.ones([1, 4])
    assert again(x).tolist() == net(x).tolist()
    ref = weakref.ref(again)
    del again
    gc.collect()
    modules.attached([])
    assert ref() is None                # a restoration with unused values keeps nothing alive
    assert modules.waiting == []


def test_parts_and_their_parts_attached_later(prefix):
    net, _, path = saved_net(prefix)
    w, b = df.Variable(df.zeros([3])), df.Variable(df.zeros([4, 3]))
    layer = df.train.Checkpoint(b=w)
    root = df.train.Checkpoint(net=df.train.Checkpoint(layers=[layer]))
    status = root.restore(path)
    assert w.tolist() == net.layers[0].b.tolist() and b.tolist() == df.zeros([4, 3]).tolist()
    status.assert_existing_objects_matched()
    layer.w = b
    assert b.tolist() == net.layers[0].w.tolist()
    assert status.unused and "net/layers/0/w" not in status.unused
    layer.other = df.Variable(1.)
    assert status.unmatched == ["net/layers/0/other"]
    with pytest.raises(AssertionError, match=r"ckpt-1.safetensors has no values for: net/layers/0/"
                                             r"other"):
        status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="no values for"):
        status.assert_consumed()


def test_lists_and_dicts_grow(prefix):
    save = df.train.Checkpoint()
    save.listed = [df.Variable(1.)]
    save.listed.append(df.Variable(2.))
    save.mapped = {"one": save.listed[0]}
    save.mapped["two"] = save.listed[1]
    path = save.save(prefix)
    restore, v2 = df.train.Checkpoint(), df.Variable(0.)
    restore.mapped = {"two": v2}
    status = restore.restore(path)
    assert v2.item() == 2.
    restore.listed = own = []
    v1 = df.Variable(0.)
    assert repr(restore.listed) == "[]" and restore.listed == []
    restore.listed.append(v1)
    assert v1.item() == 1. and own == [v1] and len(restore.listed) == 1
    status.assert_consumed()
    assert type(restore.listed) is list     # a view only while values are unused
    other, a = df.train.Checkpoint(mapped={}), df.Variable(0.)
    other.restore(path)
    other.mapped["one"] = a
    other.mapped.update(two=df.Variable(0.))
    assert a.item() == 1. and other.mapped["two"].item() == 2. and [*other.mapped] == ["one", "two"]


def test_objects_with_several_paths(prefix):
    v = df.Variable([1., 2.])
    net = df.Module()
    net.w, net.itself = v, net
    optimizer = df.optimizers.Adam(0.1)
    optimizer.build([v])
    optimizer.slots[v]["m"].assign([5., 6.])
    path = df.train.Checkpoint(a=v, net=net, optimizer=optimizer).save(prefix)
    with content.checkpoint_at(path) as found:
        assert sorted(n for n in found.tensors if "/" not in n) == ["a", "save_counter"]
        assert found.same["net/w"] == "a"
    for built in (False, True):
        w, other, again = df.Variable([0., 0.]), df.Module(), df.optimizers.Adam(0.1)
        other.w = w
        if built:
            again.build([w])
        checkpoint = df.train.Checkpoint(net=other, optimizer=again)
        status = checkpoint.restore(path)
        again.build([w])
        assert w.tolist() == [1., 2.] and again.slots[w]["m"].tolist() == [5., 6.]
        status.assert_consumed()
    b = df.Variable([0., 0.])
    path = df.train.Checkpoint(net=other).save(prefix)      # net/w is the only path in the file
    mine = df.Module()
    mine.w = b
    df.train.Checkpoint(a=b, net=mine).restore(path).assert_consumed()
    assert b.tolist() == [1., 2.]


def test_root(prefix):
    net, _, _ = saved_net(prefix)
    path = df.train.Checkpoint(net).write(prefix)
    assert ("layers/0/b", [3]) in df.train.list_variables(path)
    again = Net()
    df.train.Checkpoint(root=again).read(path)
    again(df.ones([1, 4]))
    assert again.layers[1].w.tolist() == net.layers[1].w.tolist()
    extra = df.train.Checkpoint(again, step=df.Variable(1))
    assert extra.restore(path).unmatched == ["step"]
    optimizer, v = df.optimizers.SGD(0.1, momentum=0.5), df.Variable([1.])
    optimizer.build([v])
    path = df.train.Checkpoint(root=optimizer).write(prefix)
    assert "slots/momentum/@0" in dict(df.train.list_variables(path))
    df.train.Checkpoint(root=optimizer).read(path).assert_consumed()
    for bad in (df.Variable(1.), 3):
        with pytest.raises(errors.DTypeError, match=r"root is .*expected a Module"):
            df.train.Checkpoint(bad)


def test_numbers_and_states_attached_later(prefix):
    generator = df.random.Generator(3)
    path = df.train.Checkpoint(epoch=4, random=generator, name="run").save(prefix)
    mine = df.train.Checkpoint(epoch=0)
    status = mine.restore(path)
    assert mine.epoch == 4
    mine.name, mine.random = "x", df.random.Generator(8)
    assert mine.name == "run" and mine.random.seed == 3
    mine.epoch = 9
    assert mine.epoch == 9              # a value is used once
    status.assert_consumed()


def test_incompatible_objects_raise_when_they_are_attached(prefix):
    path = df.train.Checkpoint(a=df.Variable(1.), v=df.Variable([1., 2.])).save(prefix)
    mine = df.train.Checkpoint(a=df.Variable(0.))
    mine.restore(path)
    with pytest.raises(errors.InvalidArgumentError,
                       match=r"v is float32 \(2,\) in the checkpoint, float32 \(3,\) here"):
        mine.v = df.Variable([1., 2., 3.])
    mine.v = df.Variable([0., 0.])
    assert mine.v.tolist() == [1., 2.]


def test_nothing_matches(prefix):
    path = df.train.Checkpoint(a=df.Variable(1.)).save(prefix)
    status = df.train.Checkpoint(b=df.Variable(1.)).restore(path)
    with pytest.raises(AssertionError, match=r"nothing was restored; it has a"):
        status.assert_nontrivial_match()
    with pytest.raises(AssertionError, match="has no values for: b"):
        status.assert_existing_objects_matched()
    none = df.train.Checkpoint(b=df.Variable(1.)).restore(None)
    assert (none.path, none.unused, none.unmatched) == (None, [], [])
    assert none.initialize_or_restore() is None and none.expect_partial() is none
    for check in (none.assert_consumed, none.assert_nontrivial_match,
                  none.assert_existing_objects_matched):
        with pytest.raises(AssertionError, match="there was no checkpoint"):
            check()
    assert status.run_restore_ops() is None


def test_later_restore_wins_and_several_may_wait(prefix):
    paths = [df.train.Checkpoint(a=df.Variable(k), c=df.Variable(k)).save(f"{prefix}{k}")
             for k in (1, 2)]
    mine = df.train.Checkpoint(a=df.Variable(0))
    for path in paths:
        mine.restore(path)
    assert mine.a.item() == 2
    mine.c = df.Variable(0)
    assert mine.c.item() == 2


def test_copies_of_a_module_do_not_wait(prefix):
    _, _, path = saved_net(prefix)
    net = Net()
    checkpoint = df.train.Checkpoint(net=net)
    checkpoint.restore(path)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        other(df.ones([1, 4]))
        assert other.layers[0].w.tolist() == df.zeros([4, 3]).tolist()
    assert net(df.ones([1, 4])).tolist() != [[0., 0.]]


def test_names_with_the_suffix_of_tensorflow(prefix):
    net, _, path = saved_net(prefix)
    reader, key = df.train.load_checkpoint(path), "net/layers/0/b/.ATTRIBUTES/VARIABLE_VALUE"
    assert reader.get_variable_to_shape_map()[key] == [3] and reader.has_tensor(key)
    assert reader.get_variable_to_dtype_map()[key].name == "float32"
    assert reader.get_tensor(key).tolist() == net.layers[0].b.tolist()
    assert df.train.load_variable(path, key).tolist() == net.layers[0].b.tolist()
    with pytest.raises(KeyError):
        reader.get_variable_to_shape_map()["net/x"]
    with pytest.raises(errors.NotFoundError, match="no tensor is called 'net/x'"):
        reader.get_tensor("net/x/.ATTRIBUTES/VARIABLE_VALUE")


def test_damaged_paths_are_detected(prefix):
    v = df.Variable(1.)
    path = df.train.Checkpoint(v=v, w=[v]).save(prefix)
    for bad in ([], 3, "x", {"a": []}):
        tensors = {"v": df.constant(1.)}
        content.write_content(path + ".safetensors", content.FORMAT, tensors, {}, bad or [1])
        checkpoint = df.train.Checkpoint(v=df.Variable(0.))
        if bad == {"a": []}:
            checkpoint.restore(path)
        else:
            with pytest.raises(errors.DataLossError, match="its manifest is invalid"):
                checkpoint.restore(path)
    for loop in ({"a": "a/b", "a/b": "a"}, {"": "x"}, {"v": "v/v"}):
        content.write_content(path + ".safetensors", content.FORMAT, tensors, {}, loop)
        checkpoint.restore(path)
