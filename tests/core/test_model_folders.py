"""What is refused when a model is opened or run, each in one sentence, before anything is drawn."""

import json
import os
import shutil
from contextlib import suppress

import numpy as np
import pytest

from core.checkpoints import budget, weights
from core.checkpoints.model import open_model
from core.errors import AttnError, BudgetError, ModelError, SettingError
from core.progress import Cancelled, watched
from tests.core.small_checkpoints import (
    REFERENCE,
    copied,
    edit_config,
    edit_tensors,
    f32,
    read_tensors,
    refused,
    safetensors_bytes,
)

IDS = [5, 17, 3, 29, 11]


@pytest.fixture
def llama(tmp_path):
    return copied("llama-shards", tmp_path)


def test_not_a_model(tmp_path):
    """A path that is none, an empty folder, a file of another kind."""
    assert "does not exist" in refused(tmp_path / "none")
    assert "no config.json" in refused(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    assert "no model's folder and no .gguf file" in refused(tmp_path / "a.txt")


def test_folder_without_weights(bert):
    (bert / "model.safetensors").unlink()
    assert "has no model.safetensors" in refused(bert)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth"])
def test_pickle_is_refused_with_the_way_to_convert(bert, name):
    """A pickle runs code when it is read: it is never read."""
    (bert / "model.safetensors").rename(bert / name)
    for named in (bert, bert / name):
        message = refused(named)
        assert f"has its weights as a pickle ({name})" in message
        assert "save_pretrained" in message


@pytest.mark.parametrize(
    ("content", "what"),
    [("", "no JSON"), ("{", "no JSON"), ("[1]", "no JSON object"), ("\ufeff{}", "model_type"),
     ("version https://git-lfs.github.com/spec/v1", "is a Git LFS pointer"),
     ("[" * 100000, "no JSON")],
)  # fmt: skip
def test_config_that_is_none(bert, content, what):
    """X11: cut off, something else; a byte order mark is read over."""
    (bert / "config.json").write_text(content)
    assert what in refused(bert)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_name_that_leaves_the_folder_by_a_link(bert, tmp_path, name):
    """X04: a link out of the folder is not followed."""
    (bert / name).rename(tmp_path / name)
    (bert / name).symlink_to(tmp_path / name)
    assert "outside itself" in refused(bert)


def test_the_hubs_cache_has_links_that_may_be_followed(bert, tmp_path):
    """The hub's own cache keeps files in blobs and links to them from snapshots."""
    snapshot = tmp_path / "models--x" / "snapshots" / "0123"
    blobs = tmp_path / "models--x" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    for path in list(bert.iterdir()):
        path.rename(blobs / path.name)
        (snapshot / path.name).symlink_to(blobs / path.name)
    assert open_model(snapshot).family == "BERT"


@pytest.mark.parametrize(
    "name",
    ["../model-00001-of-00002.safetensors", "/etc/passwd", "sub/model.safetensors", "..", "",
     "a\\b.safetensors", "\x1b[2J"],
)  # fmt: skip
def test_shard_whose_name_leaves_the_folder(llama, name):
    """X04: an index names plain files of its own folder."""
    path = llama / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    first = next(iter(index["weight_map"]))
    index["weight_map"][first] = name
    path.write_text(json.dumps(index))
    message = refused(llama)
    assert "outside itself" in message or "lacks a file" in message
    assert "\x1b" not in message


def test_missing_shards_are_listed_together(llama):
    """C13: all of them in one message, and no shard is opened alone."""
    shutil.rmtree(llama / "x", ignore_errors=True)
    for name in ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"):
        (llama / name).unlink()
    message = refused(llama)
    assert "lacks 2 files" in message
    assert "00001" in message
    assert "00002" in message


def test_many_missing_shards_leave_room_for_what_to_do(llama):
    """As after a download that was broken off: with all of 30 names the hint was cut away."""
    where = {f"t{i}": f"model-{i:05}-of-00030.safetensors" for i in range(1, 31)}
    (llama / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    message = refused(llama)
    assert f"lacks 30 files of its weights: {where['t1']}, " in message
    assert "00005-of-00030.safetensors …: download the rest of the model" in message


def test_a_shard_whose_name_no_system_has(llama):
    index = llama / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "x" * 3000}}))
    assert f"{llama} lacks a file of its weights: xxx" in refused(llama)


def test_tensor_that_is_not_in_its_shard(llama):
    """C13: the index says where, and it is not there."""
    path = llama / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    name = next(n for n, f in index["weight_map"].items() if "00001" in f)
    index["weight_map"][name] = "model-00002-of-00002.safetensors"
    path.write_text(json.dumps(index))
    assert f"tensor {name} is not in model-00002" in refused(llama)


def test_tensor_that_is_there_twice(llama, bert):
    """The second would be read, though the index names the first; and gamma is weight."""
    first, second = sorted(llama.glob("*.safetensors"))
    name = min(read_tensors(first))
    both = read_tensors(second) | {name: read_tensors(first)[name]}
    second.write_bytes(safetensors_bytes(both))
    assert f"tensor {name} is there twice, the second time in {second}" in refused(llama)
    edit_tensors(bert, embeddings__LayerNorm__gamma=f32(np.zeros(24)))
    assert "tensor embeddings.LayerNorm.weight is there twice" in refused(bert)


def test_index_without_a_map(llama):
    (llama / "model.safetensors.index.json").write_text("{}")
    assert "no weight_map" in refused(llama)


def test_missing_tensors_are_named(bert):
    edit_tensors(bert, encoder__layer__1__output__dense__weight=None)
    assert "lack a tensor: encoder.layer.1.output.dense.weight" in refused(bert)


def test_tensor_of_another_shape(bert):
    edit_tensors(bert, encoder__layer__1__output__dense__bias=f32(np.zeros(23)))
    message = refused(bert)
    assert "encoder.layer.1.output.dense.bias has the shape [23]" in message
    assert "[24]" in message


def test_weights_of_another_model(bert, llama):
    shutil.copy(llama / "config.json", bert / "config.json")
    assert "different models" in refused(bert)


@pytest.mark.parametrize(
    "name",
    ["encoder__layer__3__output__dense__weight", "encoder__layer__1__attention__q_norm__weight",
     "embeddings__position_projection__weight", "encoder__layer__0__lora_A__weight"],
)  # fmt: skip
def test_tensor_that_nothing_reads(bert, name):
    """What the file has and the pass does not use would make a plausible, wrong picture."""
    edit_tensors(bert, **{name: f32(np.zeros(4))})
    assert "has no use for a tensor" in refused(bert)


@pytest.mark.parametrize(
    "name", ["pooler__dense__weight", "classifier__weight", "embeddings__position_ids"]
)
def test_heads_and_old_buffers_may_be_left_over(bert, name):
    edit_tensors(bert, **{name: f32(np.zeros(4))})
    assert open_model(bert).family == "BERT"


@pytest.mark.parametrize(
    "settings",
    [
        {"model_type": "xlnet"},
        {"model_type": None},
        {"model_type": ["bert"]},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"hidden_act": "mish"},
        {"quantization_config": {"bits": 4}},
        {"alibi": True},
        {"attention_sink": 4},
        {"num_attention_heads": 5},
        {"num_attention_heads": 0},
        {"num_attention_heads": "4"},
        {"num_hidden_layers": 2.5},
        {"num_hidden_layers": True},
        {"hidden_size": -24},
        {"hidden_size": None},
        {"layer_norm_eps": "1e-12"},
        {"layer_norm_eps": float("nan")},
        {"pruned_heads": {"0": [1]}},
    ],
)
def test_setting_that_is_not_known(bert, settings):
    """A family, a scale, a mask that nothing here computes is refused by its name (N09)."""
    edit_config(bert, **settings)
    assert next(iter(settings)) in refused(bert)


@pytest.mark.parametrize(
    "settings",
    [
        {"rope_parameters": {"rope_type": "yarn", "factor": 4.0}},
        {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "default", "mscale": 1.0}},
        {"rope_parameters": None, "rope_scaling": {"type": "ntk", "factor": 2.0}},
        {"rope_parameters": {"rope_type": "linear"}},
        {"rope_parameters": {"rope_type": "linear", "factor": -1}},
        {"rope_parameters": {"partial_rotary_factor": 1.5}},
        {"rope_parameters": "llama3"},
        {"num_key_value_heads": 5},
        {"sliding_window": 4},
        {"attn_logit_softcapping": 50.0},
        {"attention_multiplier": 0.5},
        {"hidden_act": "gelu_10"},
        {"layer_types": ["linear_attention", "full_attention"]},
        {"is_causal": False},
    ],
)
def test_setting_of_llama_that_is_not_known(llama, settings):
    """C18: an unknown scaling of rotary positions is refused, not left out."""
    edit_config(llama, **settings)
    message = refused(llama)
    assert any(part in message for part in ("rope_", "partial_rotary", "factor", *settings))


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"rope_scaling": {"rope_type": "yarn", "beta_fast": 32}}, "rope_type"),
        ({"rope_scaling": {"type": "linear", "factor": None}}, "rope_type"),
        ({"rope_scaling": {"factor": 4.0}}, "factor"),
        ({"rope_theta": 7.0}, "rope_theta"),
        ({"rotary_pct": 0.5}, "partial_rotary_factor"),
    ],
)
def test_rotation_that_is_given_in_two_ways(llama, settings, name):
    """A scaling that somebody adds as transformers 4 has it went unseen beside that of 5."""
    before = json.loads((llama / "config.json").read_text())["rope_parameters"]
    scaling = {name: value for name, value in before.items() if name != "rope_theta"}
    edit_config(llama, rope_theta=before["rope_theta"], rope_scaling=scaling)  # once more
    edit_config(llama, rope_parameters=before | {"partial_rotary_factor": 1.0})
    assert open_model(llama).family == "Llama"
    edit_config(llama, **settings)
    assert f"config.json gives {name} twice, as " in refused(llama)


@pytest.mark.parametrize("length", [1, 0.5])
def test_a_text_too_short_for_longrope(tmp_path, length):
    """Its logarithm divides, or is of nothing."""
    folder = copied("phi3-long", tmp_path)
    before = json.loads((folder / "config.json").read_text())["rope_parameters"]
    changed = before | {"original_max_position_embeddings": length}
    edit_config(folder, rope_parameters=changed)
    assert f"original_max_position_embeddings {length:.1f} is not supported" in refused(folder)


def test_harmless_settings_are_no_reason_to_refuse(bert):
    edit_config(
        bert,
        attention_probs_dropout_prob=0.3,
        classifier_dropout=None,
        gradient_checkpointing=True,
        id2label={"0": "window"},
        output_attentions=True,
        pad_token_id=3,
        _attn_implementation="sdpa",
        torch_dtype="float16",
        use_alibi=False,
        is_causal=False,
        rope_scaling=None,
    )
    assert open_model(bert).family == "BERT"


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("encoder__layer__1__intermediate__dense__bias", "layer 1"),
        ("encoder__layer__0__attention__self__query__bias", "layer 0"),
        ("embeddings__LayerNorm__bias", "the embedding"),
    ],
)
def test_weight_that_is_not_finite(bert, name, where, value):
    """N08: the layer and the tensor are named, and nothing is drawn."""
    size = 40 if "intermediate" in name else 24
    broken = np.zeros(size)
    broken[3] = value
    edit_tensors(bert, **{name: f32(broken)})
    with pytest.raises(ModelError) as caught:
        open_model(bert).run(IDS)
    assert caught.value.message.startswith(where)
    assert name.replace("__", ".") in caught.value.message


@pytest.mark.parametrize(
    ("name", "where"),
    [
        ("encoder.final_layer_norm", "the last norm"),
        ("encoder.block.0.layer.0.SelfAttention.relative_attention_bias", "layer 0"),
    ],
)
def test_weight_beside_the_layers_that_is_not_finite(tmp_path, name, where):
    """Of an encoder: the decoder was called the culprit, or the range of float32."""
    folder, name = copied("t5-relu", tmp_path), f"{name}.weight"
    _dtype, shape, _bytes = read_tensors(folder / "model.safetensors")[name]
    edit_tensors(folder, **{name: f32(np.full(shape, np.nan))})
    with pytest.raises(ModelError, match=f"{where} has NaN or infinite weights in {name}"):
        open_model(folder).run(IDS, target=[0, 3])


def test_infinite_weight_behind_a_mask(tmp_path):
    """Rows whose scores are all −∞ looked as if they might attend to nothing, and were 0."""
    folder, name = copied("gpt2-head", tmp_path), "transformer.h.2.attn.c_attn.weight"
    broken = np.frombuffer(read_tensors(folder / "model.safetensors")[name][2], "<f4").copy()
    broken[3] = np.inf
    edit_tensors(folder, **{name: f32(broken.reshape(24, 72))})
    with pytest.raises(ModelError, match=f"layer 2 has NaN or infinite weights in {name}"):
        open_model(folder).run(IDS)


@pytest.mark.parametrize("name", ["attention.self.value", "attention.output.dense"])
def test_numbers_whose_squares_overflow(bert, name):
    """A norm divides them by ∞, and what follows would be the same for all tokens."""
    edit_tensors(bert, **{f"encoder.layer.1.{name}.weight": f32(np.eye(24) * 1e30)})
    with pytest.raises(ModelError, match="the numbers of layer 1 are no longer finite"):
        open_model(bert).run(IDS)


def test_numbers_that_overflow_name_the_layer(bert):
    """Weights that are finite and too large: the layer is named."""
    edit_tensors(bert, encoder__layer__2__output__dense__bias=f32(np.full(24, 3e38)))
    with pytest.raises(ModelError, match="layer 2 are no longer finite"):
        open_model(bert).run(IDS)


@pytest.mark.parametrize("token", [-1, 37, 10**9])
def test_id_without_a_row(bert, token):
    """C14: −1 would read the last row in silence."""
    with pytest.raises(SettingError, match="has no row"):
        open_model(bert).run([5, token])


def test_no_ids(bert):
    with pytest.raises(SettingError, match="no tokens"):
        open_model(bert).run([])


def test_more_tokens_than_positions(bert):
    with pytest.raises(SettingError, match="limit of 19"):
        open_model(bert).run([5] * 20)


def test_roberta_has_fewer_positions_than_rows(tmp_path):
    """C10: the two rows before the first position are not for tokens."""
    model = open_model(copied("roberta-head", tmp_path))
    assert model.facts.limit == 7
    with pytest.raises(SettingError, match="limit of 7"):
        model.run([5] * 8)


def test_budget_is_said_before_anything_is_allocated(bert, monkeypatch):
    """T18: the arithmetic is in the message; no weight has been read."""
    monkeypatch.setattr(budget, "BUDGET_BYTES", 1000)
    model = open_model(bert)
    monkeypatch.setattr(weights.Weights, "block", None)
    with pytest.raises(BudgetError, match="5 tokens need"):
        model.run(IDS)


def test_memory_that_is_not_free(bert, monkeypatch):
    monkeypatch.setattr(budget, "free_bytes", lambda: 1000)
    with pytest.raises(BudgetError, match="are free"):
        open_model(bert).run(IDS)


def test_budget_counts_what_a_run_keeps(tmp_path):
    """The arithmetic is right: within a tenth of what the arrays of a trace take."""
    model = open_model(copied("llama-shards", tmp_path))
    ids = [7] * 60
    trace = model.run(ids).last
    kept = 0
    for block in trace.blocks:
        arrays = [block.q, *block.own_kv, block.attn_out, block.resid_post]
        kept += sum(array.nbytes for array in arrays)
    assert 0.9 < budget.run_bytes(model.facts, len(ids), 0) / kept < 1.1


def test_weights_that_a_cancelled_run_has_not_made_are_counted():
    def after(steps):
        def watch(what, done, total):
            if done == steps:
                raise Cancelled

        return watch

    model = open_model(REFERENCE / "gguf-llama" / "model.gguf")
    unmade = []
    for layers in (0, 1, 2):
        with suppress(Cancelled), watched(after(layers)):
            model.run(IDS)
        (held,) = model._weights.values()
        unmade.append(held.unmade_bytes)
    assert unmade[0] > unmade[1] > 0
    assert unmade[2] == 0


@pytest.mark.parametrize("keep", [0, 2**40])
def test_layers_remade_or_kept_give_the_same(bert, monkeypatch, keep):
    """A model too large to keep as float32 holds one layer at a time, and computes the same."""
    expected = open_model(bert).run(IDS).last.final
    monkeypatch.setattr(weights, "KEEP_BYTES", keep)
    model = open_model(bert)
    for _again in range(2):
        np.testing.assert_array_equal(model.run(IDS).last.final, expected)
    (held,) = model._weights.values()
    assert len(held._blocks) == (1 if keep == 0 else 3)


def test_every_kind_of_damage_is_a_refusal(bert):
    """Bits of the header flipped one by one: opened, or refused; never another error."""
    path = bert / "model.safetensors"
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for place in generator.integers(0, 900, 150):
        broken = bytearray(whole)
        broken[place] ^= 1 << int(generator.integers(8))
        path.write_bytes(broken)
        with suppress(AttnError):
            open_model(bert).run(IDS)


def test_file_without_permission(bert):
    """An error of the system is told as one sentence too."""
    (bert / "model.safetensors").unlink()
    os.mkdir(bert / "model.safetensors")
    assert "cannot be read" in refused(bert)
    (bert / "config.json").unlink()
    os.mkdir(bert / "config.json")
    assert "cannot be read (Is a directory): check the path and its permissions" in refused(bert)


def test_a_link_that_leads_to_itself(bert):
    weights = bert / "model.safetensors"
    weights.unlink()
    weights.symlink_to(weights.name)
    assert f"{weights} cannot be read (Too many levels of symbolic links)" in refused(bert)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_pipe_in_the_place_of_a_file(bert, name):
    """Opening a pipe waits for somebody who writes, and a device may be read without an end."""
    (bert / name).unlink(missing_ok=True)
    os.mkfifo(bert / name)
    assert f"{bert / name} is a pipe or a device, not a file" in refused(bert)


def test_a_pipe_or_a_device_in_the_place_of_an_index(llama):
    index = llama / "model.safetensors.index.json"
    index.unlink()
    index.symlink_to("/dev/zero")
    assert f"{index} is a pipe or a device" in refused(llama)
    index.unlink()
    os.mkfifo(index)
    assert f"{index} is a pipe or a device" in refused(llama)


@pytest.mark.parametrize("name", ["bert-plain", "llama-shards", "gguf-llama"])
def test_a_file_that_is_written_to_while_it_is_open(tmp_path, name):
    """Of a mapped file that was made shorter the rest cannot be read: the process ends (SIGBUS)."""
    folder = copied(name, tmp_path)
    file = max([*folder.glob("*.safetensors"), *folder.glob("*.gguf")])
    model = open_model(file if file.suffix == ".gguf" else folder)
    before = model.run(IDS).last
    shutil.copy(file, tmp_path / "new")
    os.replace(tmp_path / "new", file)  # another file: what was opened stays as it is
    assert model.run(IDS).last is before
    model = open_model(file if file.suffix == ".gguf" else folder)
    os.truncate(file, 0)
    with pytest.raises(ModelError, match="has changed since it was opened: start again"):
        model.run(IDS)
    if model.has_head:
        with pytest.raises(ModelError, match="has changed since it was opened"):
            model.logits(before)


def test_the_tensors_that_a_test_edits_are_the_files(bert):
    """The tests' own reader and writer agree with the file."""
    before = read_tensors(bert / "model.safetensors")
    assert len(safetensors_bytes(before)) > 1000
    edit_tensors(bert)
    assert read_tensors(bert / "model.safetensors") == before


def test_encoder_without_its_decoder(tmp_path):
    """What the configuration calls an encoder has no decoder; else the file is cut off."""
    folder = copied("t5-encoder", tmp_path)
    edit_config(folder, is_encoder_decoder=True)  # as older files have it
    assert open_model(folder).decoder is None
    edit_config(folder, architectures=["T5Model"], is_encoder_decoder=False)
    assert open_model(folder).decoder is None
    edit_config(folder, architectures=["T5Model"], is_encoder_decoder=True)
    with pytest.raises(ModelError, match=r"the weights lack \d+ tensors: decoder"):
        open_model(folder)
