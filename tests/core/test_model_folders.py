"""What is refused when a model is opened or run, each in one sentence, before anything is drawn."""

import json
import shutil
from contextlib import suppress

import numpy as np
import pytest

from core.checkpoints import budget, weights
from core.checkpoints.model import open_model
from core.errors import BudgetError, ModelError, SettingError
from core.progress import Cancelled, watched
from tests.core.small_checkpoints import (
    REFERENCE,
    copied,
    edit_config,
    edit_tensors,
    f32,
    read_tensors,
    refused,
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
