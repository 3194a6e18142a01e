"""GPT-2 and BERT of transformers: a language model that is trained with dropout, then writes; masked attention and its derivative."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import optax
from transformers import BertConfig, FlaxBertModel, FlaxGPT2LMHeadModel, GPT2Config

from plugjax_as_jax.applications import marks

TOLERANCE = 5e-3
LENGTH, VOCABULARY = 16, 24


def sentences(count: int) -> Any:
    """Numbers that go up by a step of each row's own."""
    steps = 1 + jnp.arange(count) % 3
    return 1 + (jnp.arange(count)[:, None] + steps[:, None] * jnp.arange(LENGTH)) % (VOCABULARY - 1)


def run() -> dict[str, Any]:
    """Losses, what the model writes, and what attention under a mask gives."""
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0
    )  # fmt: skip
    model = FlaxGPT2LMHeadModel(config, seed=0)
    tokens = sentences(12)
    optimizer = optax.adamw(1e-2)

    @jax.jit
    def train(params: Any, state: Any, key: Any) -> Any:
        def loss(params: Any) -> Any:
            logits = model(tokens, params=params, dropout_rng=key, train=True).logits
            return optax.softmax_cross_entropy_with_integer_labels(
                logits[:, :-1], tokens[:, 1:]
            ).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    params, state = model.params, optimizer.init(model.params)
    losses = []
    for step in marks.steps(40):
        params, state, value = train(params, state, jax.random.PRNGKey(step))
        losses.append(float(value))
    settings = {"params": params, "max_length": 12, "pad_token_id": 0}
    written = model.generate(tokens[:3, :4], do_sample=False, **settings).sequences
    beams = model.generate(tokens[:2, :4], num_beams=3, do_sample=False, **settings).sequences

    encoder = FlaxBertModel(
        BertConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                   intermediate_size=48, max_position_embeddings=32), seed=1,
    )  # fmt: skip
    mask = (jnp.arange(LENGTH)[None, :] < jnp.array([[16], [9], [4]])).astype(jnp.int32)

    def pooled(params: Any) -> Any:
        return (encoder(tokens[:3], attention_mask=mask, params=params).pooler_output ** 2).mean()

    found = encoder(tokens[:3], attention_mask=mask)
    gradient = jax.grad(pooled)(encoder.params)
    return {
        "losses": losses[:10],
        "written": written.ravel().tolist(),
        "beams": beams.ravel().tolist(),
        "hidden": found.last_hidden_state[:, 0, :4].ravel().tolist(),
        "pooled": found.pooler_output[:, :4].ravel().tolist(),
        "gradient": float(optax.global_norm(gradient)),
    }


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        marks.tell(run, TOLERANCE)
