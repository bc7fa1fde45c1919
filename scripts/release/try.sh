#!/usr/bin/env bash
# Tests the released file for this machine's platform: its checksum, its signature on macOS, its version, and a formation
# played against it.
#
#   scripts/release/try.sh dist/release
#
# It replaces dist/mur-roost, which the tests run. Run `npm ci` first.
set -euo pipefail

if [ $# -ne 1 ] || [ ! -f "$1/checksums.txt" ]; then
  echo "try.sh: usage: scripts/release/try.sh FOLDER, where FOLDER holds a release and its checksums.txt" >&2
  exit 1
fi
release=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

kernel=$(uname -s | tr '[:upper:]' '[:lower:]')
machine=$(uname -m | sed 's/^arm64$/aarch64/')
version=$(node -p 'require("./package.json").version')
name="mur-roost-$version-$kernel-$machine"

checksum() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}
if ! grep -qx "$(checksum "$release/$name")  $name" "$release/checksums.txt"; then
  echo "try.sh: $name is not the file that checksums.txt names" >&2
  exit 1
fi

# Copy and then rename, so that a running daemon keeps the old file.
mkdir -p dist
cp "$release/$name" dist/.mur-roost
chmod 755 dist/.mur-roost
mv -f dist/.mur-roost dist/mur-roost

if [ "$kernel" = darwin ]; then codesign --verify --strict --verbose=4 dist/mur-roost; fi
if [ "$(dist/mur-roost --version)" != "mur-roost $version" ]; then
  echo "try.sh: $name is of another version than $version" >&2
  exit 1
fi
npx bun test --timeout 60000 test/e2e
