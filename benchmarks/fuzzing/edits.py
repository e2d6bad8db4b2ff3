"""Edits that somebody who knows the format could make, checksums included."""

import hashlib
import json
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

ZEROS = "0" * 64
SEAL = re.compile(r'(\\?"sha256\\?": \\?")[0-9a-f]{64}')
LARGEST = 1 << 26  # bytes of a file worth reading
MARK = "\x02here\x02"  # a placeholder for text that json.dumps would never write

ODD_WORDS = [
    "", "\0", "\x1b[31mred\x1b[0m", "\x9b31m", "\ud800", "../../etc/passwd", "[bold]x[/nope]",
    "=1+1", "</script><script>alert(1)</script>", "$x^{", "任务", "задача", "\u202e", "nan",
    "inf", "0x10", "1e5", "%s{0}", "A" * 100_000, "a\nb\rc", "point-trap", "CartPole-v1",
    "math:pi", "es",
]  # fmt: skip
ODD = [
    "null", "true", "false", "0", "-1", "-0.0", "1.5", "1e308", "1e400", "1e-400", "NaN",
    "Infinity", "-Infinity", str(2**31), str(2**53), str(2**63), str(2**64), str(-(2**63)),
    "9" * 400, "9" * 5000,
    "[]", "{}", "[[]]", "[null]", "[1, [2]]", "[NaN, 1e400]", '{"a": {"b": []}}', "[0, 0, 0]",
    "[" * 2000 + "]" * 2000, "[" * 200_000, '{"a":' * 500 + "1" + "}" * 500,
    "[" + "0," * 100_000 + "0]",
    *map(json.dumps, ODD_WORDS),
]  # fmt: skip


def write(path: Path, data: bytes) -> None:
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def _edit(data: bytes, path: Path, rng: Random) -> bytes:
    """Change a value, a key or the order in a document, wherever the file keeps it."""
    if path.suffix == ".safetensors":
        return _edit_header(data, rng)
    if path.suffix != ".jsonl":
        return edited(data.decode(errors="surrogateescape"), rng).encode(errors="surrogatepass")
    lines = data.splitlines(keepends=True) or [b"{}"]
    i = rng.randrange(len(lines))
    line = edited(lines[i].decode(errors="surrogateescape"), rng)
    lines[i] = line.encode(errors="surrogatepass") + b"\n"
    return b"".join(lines)


def edited(text: str, rng: Random) -> str:
    """A JSON document with one thing changed; text that is not JSON gets a tail."""
    try:
        document = {"": json.loads(text)}
    except (ValueError, RecursionError):
        return text + rng.choice(ODD)
    container, key = rng.choice(list(_places(document)))
    old = container[key]
    container[key] = MARK
    raw = _other(old, rng)
    if container is not document and isinstance(container, dict):
        if rng.random() < 0.15:
            del container[key]
        elif rng.random() < 0.15:
            raw = f"{json.dumps(old)}, {json.dumps(key)}: {raw}"  # the same key twice
        elif rng.random() < 0.1:
            container[rng.choice(ODD_WORDS)] = container.pop(key)
            raw = json.dumps(old)
    return json.dumps(document[""], indent=1).replace(json.dumps(MARK), raw)


def _other(old: Any, rng: Random) -> str:
    if isinstance(old, int | float) and not isinstance(old, bool) and rng.random() < 0.4:
        return json.dumps(rng.choice((old + 1, old - 1, 2 * old, -old, old / 3, float(old))))
    if isinstance(old, list) and rng.random() < 0.4:
        return json.dumps(rng.choice((old[:-1], old + old, old[::-1], [old])))
    return rng.choice(ODD)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    pairs = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(pairs):
        yield document, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _edit_header(data: bytes, rng: Random) -> bytes:
    size = int.from_bytes(data[:8], "little")
    if rng.random() < 0.2 or not 8 <= size <= len(data):
        odd = rng.choice((0, 1, size - 1, size + 1, len(data), 1 << 31, 1 << 62, (1 << 64) - 1))
        return (odd % (1 << 64)).to_bytes(8, "little") + data[8:]
    try:
        document = json.loads(data[8 : 8 + size])
        about = document.get("__metadata__", {}).get("nses")
    except (ValueError, AttributeError):
        return data
    if about is not None and rng.random() < 0.6:  # our metadata is a document in a document
        document["__metadata__"]["nses"] = edited(about, rng)
        text = json.dumps(document)
    else:
        text = edited(json.dumps(document), rng)
    header = text.encode(errors="surrogatepass")
    return len(header).to_bytes(8, "little") + header + data[8 + size :]


def _renumber(data: bytes, path: Path, rng: Random) -> bytes:
    """Put NaN, infinity or a huge number among the tensors; in other files, change a digit."""
    begin = 8 + int.from_bytes(data[:8], "little")
    if path.suffix != ".safetensors" or begin + 8 > len(data):
        at = rng.choice([i for i, byte in enumerate(data) if chr(byte) in "0123456789"] or [0])
        return data[:at] + str(rng.randint(0, 9)).encode() + data[at + 1 :]
    at = begin + 4 * rng.randrange((len(data) - begin - 4) // 4)
    odd = rng.choice((float("nan"), float("inf"), -1e38, 1e300))
    number = struct.pack("<d", odd) if odd == 1e300 else struct.pack("<f", odd)
    return data[:at] + number + data[at + len(number) :]


def _recode(data: bytes, path: Path, rng: Random) -> bytes:
    text = data.decode(errors="replace")
    encoding = rng.choice(("utf-16", "utf-32", "utf-8-sig", "cp037"))
    return text.encode(encoding, errors="replace")


def _litter(data: bytes, path: Path, rng: Random) -> bytes:
    """Insert control characters or odd words."""
    at = rng.randint(0, len(data))
    word = rng.choice(ODD_WORDS).encode(errors="surrogatepass")
    return (
        data[:at] + rng.choice((word, b"\x1b]0;title\x07", b"\r\n\r\n", b"{}\n[]\n3\n")) + data[at:]
    )


Change = Callable[[bytes, Path, Random], bytes]
EDITS: dict[str, Change] = {
    "edit": _edit, "edit again": _edit, "renumber": _renumber, "recode": _recode, "litter": _litter,
}  # fmt: skip


def reseal(path: Path) -> bool:
    """Make the checksums fit the change, as somebody who knows the format would."""
    manifest = path.with_name("manifest.json")
    if any(file.exists() and file.stat().st_size > LARGEST for file in (path, manifest)):
        return False  # an earlier damage has made it a sparse terabyte
    if path.suffix == ".safetensors" and path.parent.parent.name != "checkpoints":
        return _reseal_alone(path)
    if not manifest.is_file():
        return False
    text = manifest.read_text(errors="surrogateescape")
    if path != manifest:
        data, name = path.read_bytes(), re.escape(json.dumps(path.name))
        entry = f'{{"size": {len(data)}, "sha256": "{hashlib.sha256(data).hexdigest()}"}}'
        text = re.sub(name + r":\s*\{[^{}]*\}", lambda _: f"{json.dumps(path.name)}: {entry}", text)
    write(manifest, _sealed(text).encode(errors="surrogateescape"))
    return True


def _reseal_alone(path: Path) -> bool:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + size])
        header["__metadata__"]["nses"] = _sealed(header["__metadata__"]["nses"])
        text = json.dumps(header).encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    write(path, len(text).to_bytes(8, "little") + text + data[8 + size :])
    return True


def _sealed(text: str) -> str:
    """A document with its own SHA-256, computed with zeros in its place."""
    blank = SEAL.sub(rf"\g<1>{ZEROS}", text, count=1)
    seal = hashlib.sha256(blank.encode(errors="surrogatepass")).hexdigest()
    return blank.replace(ZEROS, seal, 1)
