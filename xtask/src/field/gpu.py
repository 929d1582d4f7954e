"""Programs of a machine with an NVIDIA GPU, without and with the profiler: `gpu.py PROFUNDO [NAME…]`.

Output and exit code must be the same. A line for each program and mode says so, with both times and
what the recording says of its own quality. It needs what the programs import (PyTorch, JAX, CuPy,
scikit-learn and others) and, for one of them, nvcc; what is missing is skipped."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "torch_loop": """
import torch
torch.manual_seed(0)
a = torch.randn(2048, 2048, device='cuda')
def step(a):
    b = a @ a
    return b / b.norm()
for _ in range(2000): a = step(a)
print('%.3f' % a.norm().item())
""",
    "torch_train": """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(4096, 256, device='cuda')
y = x.sum(1, keepdim=True)
for _ in range(1500):
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
print('trained', loss.item() < 50)
""",
    "torch_loader": """
import torch
from torch.utils.data import DataLoader, Dataset
class Numbers(Dataset):
    def __len__(self): return 4000
    def __getitem__(self, i):
        return torch.tensor(float(sum(k * i for k in range(3000))))
if __name__ == '__main__':
    total = 0.0
    for batch in DataLoader(Numbers(), batch_size=50, num_workers=8): total += batch.cuda().double().sum().item()
    print(total)
""",
    "torch_compile": """
import torch
@torch.compile
def f(x): return (x.sin() + x.cos()).relu().sum()
x = torch.arange(100000, device='cuda', dtype=torch.float32)
for _ in range(200): r = f(x)
print('%.1f' % r.item())
""",
    "cupy_loop": """
import cupy
x = cupy.arange(1000000, dtype=cupy.float64)
for _ in range(3000): x = cupy.sqrt(x * x + 1)
print('%.6f' % float(x.sum()))
""",
    "jax_loop": """
import os
os.environ['XLA_PYTHON_CLIENT_PREALLOCATE'] = 'false'
import jax, jax.numpy
f = jax.jit(lambda x: jax.numpy.tanh(x @ x) * 0.5)
x = jax.numpy.ones((512, 512)) * 0.01
for _ in range(2000): x = f(x)
print('%.6f' % float(x.sum()))
""",
    "triton_add": """
import torch, triton, triton.language as tl
@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)
x = torch.ones(100000, device='cuda')
o = torch.zeros_like(x)
for _ in range(5000): add[(98,)](x, x, o, 100000, 1024)
print(o.sum().item())
""",
    "transformer": """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_head=4, n_embd=128, vocab_size=1000)).cuda().eval()
x = torch.zeros(1, 4, dtype=torch.long, device='cuda')
print(tuple(model.generate(x, max_new_tokens=150, do_sample=False, pad_token_id=0).shape))
""",
    "joblib_loky": """
import math
from joblib import Parallel, delayed
def f(i): return sum(math.sqrt(k) for k in range(i * 1000))
if __name__ == '__main__': print('%.3f' % sum(Parallel(n_jobs=16)(delayed(f)(i) for i in range(300))))
""",
    "sklearn_forest": """
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
X, y = make_classification(4000, 40, random_state=0)
print(RandomForestClassifier(300, n_jobs=16, random_state=0).fit(X, y).score(X, y))
""",
    "numpy_threads": """
import numpy
a = numpy.random.default_rng(0).standard_normal((2000, 2000))
for _ in range(30):
    a = a @ a
    a /= numpy.linalg.norm(a)
print('%.6f' % numpy.linalg.norm(a))
""",
    "threads_64": """
import threading, zlib
data = bytes(range(256)) * 4000
lengths = []
def f():
    for _ in range(20): lengths.append(len(zlib.compress(data, 6)))
threads = [threading.Thread(target=f) for _ in range(64)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(sum(lengths))
""",
}
PLAIN = r"""
#include <cstdio>
__global__ void spin(long n) { long t = clock64(); while (clock64() - t < n) ; }
__attribute__((noinline)) void one() { spin<<<1, 32>>>(200000); }
__attribute__((noinline)) void other() { spin<<<1, 32>>>(600000); cudaDeviceSynchronize(); }
int main() { for (int i = 0; i < 3000; i++) { one(); other(); } printf("%d\n", (int)cudaGetLastError()); }
"""
MODES = {"time": [], "wall": ["--wall"], "memory": ["--memory"], "exact": ["--memory=exact"]}
LIMIT = 120


def run(words, folder):
    """The exit code (`None`: it hangs), the output and the time of a command."""
    began = time.monotonic()
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, cwd=folder)
    except subprocess.TimeoutExpired:
        return None, "", "", LIMIT
    return done.returncode, done.stdout, done.stderr, time.monotonic() - began


def quality(profundo, recording):
    text = subprocess.run([profundo, "report", recording], capture_output=True, text=True).stdout
    return " ".join(line for line in text.splitlines() if re.match("Quality|Warning", line))


def commands(folder):
    for name, text in PROGRAMS.items():
        path = os.path.join(folder, name + ".py")
        with open(path, "w") as file:
            file.write(text)
        yield name, [sys.executable, path]
    source, program = (os.path.join(folder, name) for name in ("plain.cu", "plain"))
    with open(source, "w") as file:
        file.write(PLAIN)
    try:
        subprocess.run(["nvcc", "-O2", "-g", "-o", program, source], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"skipped cuda_plain: {error}")
    else:
        yield "cuda_plain", [program]


def main(profundo, names):
    differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, words in commands(folder):
            if names and name not in names:
                continue
            # Twice: the first time fills caches of compilers.
            run(words, folder)
            code, out, err, alone = run(words, folder)
            if code != 0:
                print(f"skipped {name}: {err.strip().splitlines()[-1:]}")
                continue
            for mode, options in MODES.items():
                recording = os.path.join(folder, f"{name}-{mode}.profundo")
                record = [profundo, "record", *options, "-o", recording, "--", *words]
                code_with, out_with, err_with, seconds = run(record, folder)
                is_same = (code, out) == (code_with, out_with)
                differing += not is_same
                print(
                    f"{'same   ' if is_same else 'DIFFERS'} {name} {mode}: {alone:.2f} s, {seconds:.2f} s;",
                    quality(profundo, recording),
                    flush=True,
                )
                if not is_same:
                    print("   ", json.dumps([code, out[-300:], code_with, out_with[-300:], err_with[-600:]]))
    sys.exit(differing != 0)


main(os.path.abspath(sys.argv[1]), sys.argv[2:])
