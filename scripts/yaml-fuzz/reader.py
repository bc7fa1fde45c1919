"""Reads YAML documents from standard input with libyaml's reader (or, given "python", with PyYAML's own).

In: frames of a little-endian 32-bit count and that many documents, each a 32-bit length and its UTF-8. Out: for each
frame a 32-bit length and JSON: a list with one answer per document. An answer is the tree ("=text" for a plain scalar,
'"text' for another, a list for a list, {"map": [[key, value], ...]} for a mapping), or {"refused": why}.
"""

import json
import struct
import sys

import yaml


def tree(node):
    if node is None:
        return "="
    if isinstance(node, yaml.ScalarNode):
        return ('"' if node.style else "=") + node.value
    if isinstance(node, yaml.SequenceNode):
        return [tree(item) for item in node.value]
    return {"map": [[key(name), tree(value)] for name, value in node.value]}


def key(node):
    return node.value if isinstance(node, yaml.ScalarNode) else {"no text": tree(node)}


def answer(loader, document):
    try:
        return tree(yaml.compose(document, Loader=loader))
    except yaml.YAMLError as error:
        return {"refused": getattr(error, "problem", None) or str(error)}
    except RecursionError:
        return {"refused": "nested too deeply"}


def main():
    loader = yaml.SafeLoader if sys.argv[1:] == ["python"] else yaml.CSafeLoader
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while True:
        head = source.read(4)
        if len(head) < 4:
            return
        answers = []
        for _ in range(struct.unpack("<I", head)[0]):
            (length,) = struct.unpack("<I", source.read(4))
            answers.append(answer(loader, source.read(length).decode("utf-8")))
        text = json.dumps(answers, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
        sink.write(struct.pack("<I", len(text)) + text)
        sink.flush()


main()
