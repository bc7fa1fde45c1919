"""Other people's ZIP readers, asked by line: a path comes in, what each of them makes of it goes out as JSON.

A reader's view is the start of the SHA-256 of the murmur.yaml that it shows, or null where it refuses or shows none.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile

MANIFEST = "murmur.yaml"


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def on_disk(directory):
    path = os.path.join(directory, MANIFEST)
    # A link counts as what it shows: whoever reads the manifest follows it.
    if not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return digest(file.read())


def zipfile_read(path, _):
    with zipfile.ZipFile(path) as archive:
        return digest(archive.read(MANIFEST))


def zipfile_extract(path, directory):
    with zipfile.ZipFile(path) as archive:
        archive.extractall(directory)
    return on_disk(directory)


def command(*arguments):
    def unpack(path, directory):
        filled = [a.format(path=path, directory=directory) for a in arguments]
        done = subprocess.run(
            filled, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=20
        )
        # unzip warns with 1.
        return on_disk(directory) if done.returncode in (0, 1) else None

    return unpack


READERS = {
    "zipfile": zipfile_read,
    "zipfile-extract": zipfile_extract,
    "unzip": command("unzip", "-qq", "-o", "{path}", "-d", "{directory}"),
    "7z": command("7z", "x", "-y", "-bd", "-o{directory}", "{path}"),
    "bsdtar": command("bsdtar", "-x", "-f", "{path}", "-C", "{directory}"),
}


def view(reader, path):
    directory = tempfile.mkdtemp(prefix="mur-roost-peer-")
    try:
        return READERS[reader](path, directory)
    except Exception:
        return None
    finally:
        shutil.rmtree(directory, ignore_errors=True)


for line in sys.stdin:
    question = json.loads(line)
    print(json.dumps({reader: view(reader, question["path"]) for reader in question["readers"]}), flush=True)
