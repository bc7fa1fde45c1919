#!/bin/sh
# Does with a local directory what the installer does with a published release: picks the platform, checks the
# checksum, stages the binary beside its place, runs it once, and renames it into place. What was installed before
# stays until the new one has shown that it runs.
#
# usage: install.sh <release directory> <version> <directory of the commands>
set -eu

release=$1 version=$2 commands=$3

fail() {
  echo "install: $1" >&2
  exit 1
}

case $(uname -s) in
Linux) kernel=linux ;;
Darwin) kernel=darwin ;;
*) fail "no mur-roost is published for $(uname -s)" ;;
esac
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "no mur-roost is published for $(uname -m)" ;;
esac
file=mur-roost-$version-$kernel-$machine

# In the directory of the commands, so that the last step is a rename and not a copy.
stage=$(mktemp "$commands/.mur-roost.XXXXXX")
trap 'rm -f "$stage"' EXIT
trap 'exit 1' INT TERM

cp "$release/$file" "$stage" || fail "$file is not in this release"
expected=$(awk -v file="$file" '$2 == file { print $1 }' "$release/checksums.txt")
if command -v sha256sum >/dev/null; then
  actual=$(sha256sum <"$stage")
else
  actual=$(shasum -a 256 <"$stage")
fi
[ -n "$expected" ] || fail "checksums.txt does not name $file"
[ "${actual%% *}" = "$expected" ] || fail "$file does not have the checksum of checksums.txt"

chmod 755 "$stage"
said=$("$stage" --version) || fail "$file does not start on this machine"
[ "$said" = "mur-roost $version" ] || fail "$file says that it is '$said'"

mv "$stage" "$commands/mur-roost"
echo "installed $said"
