# SPDX-License-Identifier: Apache-2.0
"""JAX: a step of training that is compiled as a whole, a scan, a sort."""
import os
import sys

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_deterministic_ops=true --xla_gpu_autotune_level=0")
try:
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        raise ImportError(f"JAX runs on {jax.default_backend()} only")
except (ImportError, RuntimeError) as error:
    print(f"no JAX for a GPU: {error}")
    sys.exit(77)


def predict(weights, x):
    return jnp.tanh(x @ weights[0]) @ weights[1]


def loss(weights, x, y):
    return jnp.mean((predict(weights, x) - y) ** 2)


@jax.jit
def step(weights, x, y):
    value, slopes = jax.value_and_grad(loss)(weights, x, y)
    return [w - 0.1 * slope for w, slope in zip(weights, slopes)], value


x = jnp.sin(jnp.arange(64 * 96, dtype=jnp.float32)).reshape(64, 96)
y = jnp.cos(jnp.arange(64 * 8, dtype=jnp.float32)).reshape(64, 8)
weights = [jnp.sin(jnp.arange(96 * 128, dtype=jnp.float32)).reshape(96, 128) * 0.1,
           jnp.cos(jnp.arange(128 * 8, dtype=jnp.float32)).reshape(128, 8) * 0.1]
for _ in range(4):
    weights, value = step(weights, x, y)
    print("loss", float(value).hex())
total = jax.jit(lambda numbers: jax.lax.scan(lambda sum, one: (sum * 0.5 + one, sum), 0.0, numbers))(x[0])
print("scan", float(total[0]).hex(), float(total[1].sum()).hex())
numbers = (jnp.arange(5000, dtype=jnp.uint32) * jnp.uint32(2654435761))
ordered = jnp.sort(numbers)
assert bool((ordered[1:] >= ordered[:-1]).all())
print("middle", int(ordered[2500]))
