#!/usr/bin/env bash
# Makes .venv/3.11 and .venv/3.13, for each of these Pythons found, with bpy, Knuckle itself (editable) and its test tools.
#   tools/setup.sh              every Python found, at least one
#   tools/setup.sh 3.11 3.13    exactly these, or fail
#   tools/setup.sh check        .venv/check: ruff, mypy and the stubs, without Blender
#   tools/setup.sh bench        .venv/bench: what the benchmarks compare with, too
#   tools/setup.sh docs         .venv/docs: what builds the documentation, without Blender
#   tools/setup.sh npm          npm, which fetches what the camera page needs
#   tools/setup.sh chromium     Chromium, in which the camera page is tested
# An environment that is up to date is left alone; delete .venv to start afresh.
set -euo pipefail
cd "$(dirname "$0")/.."

# What bpy links against, and software OpenGL for pictures without a screen (Debian's names).
LIBRARIES="libx11-6 libxrender1 libxfixes3 libxi6 libxkbcommon0 libsm6 libice6 libgl1 libegl1 libgl1-mesa-dri"

say() { echo "setup: $*" >&2; }

install_packages() {
  local root=()
  if [ "$(id -u)" != 0 ]; then root=(sudo -n); fi
  if ! command -v apt-get >/dev/null || ! ${root[@]+"${root[@]}"} true 2>/dev/null; then
    say "please install, as root: $*"
    return 1
  fi
  say "apt-get install $*"
  ${root[@]+"${root[@]}"} apt-get -qq update
  ${root[@]+"${root[@]}"} env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

# Debian splits venv off from python3, and a pyenv shim may stand for a version that is switched off: only running tells.
can_make_environments() {
  "$1" -c "import sys, venv, ensurepip; sys.exit('%d.%d' % sys.version_info[:2] != '$2')" 2>/dev/null
}

find_python() {
  local version=$1 candidate
  for candidate in $(type -ap "python$version") $(type -ap python3) \
    "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python "$HOME/.local/share/uv/python/cpython-$version".*/bin/python; do
    if can_make_environments "$candidate" "$version"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

fingerprint() { pwd; cat pyproject.toml tools/setup.sh | cksum; }

up_to_date() { [ -x ".venv/$1/bin/python" ] && [ "$(cat ".venv/$1/ready" 2>/dev/null)" = "$(fingerprint)" ]; }

make_environment() {
  local name=$1 python=$2 extra=$3
  say "$name: $("$python" --version) at $python: installing, half a minute the first time"
  # Environments hold absolute paths: one made elsewhere, or half made, is made anew; another is only brought up to date.
  if [ "$(head -n 1 ".venv/$name/ready" 2>/dev/null)" != "$PWD" ]; then
    rm -rf ".venv/$name"
    "$python" -m venv ".venv/$name"
  fi
  ".venv/$name/bin/python" -m pip --disable-pip-version-check install -qq --editable ".[$extra]"
  fingerprint >".venv/$name/ready"
}

check_libraries() {
  local missing
  if command -v dpkg-query >/dev/null; then
    missing=$(for package in $LIBRARIES; do
      dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q ' installed' || echo "$package"
    done)
  else
    missing=$(ldd ".venv/$1"/lib/python*/site-packages/bpy/__init__*.so | awk '/not found/ { print $1 }')
  fi
  if [ -n "$missing" ]; then install_packages $missing; fi
}

if [ "${1:-}" = npm ] || [ "${1:-}" = chromium ]; then
  command -v "$1" >/dev/null || install_packages "$1"
  exit
fi

if [ "${1:-}" = check ] || [ "${1:-}" = bench ] || [ "${1:-}" = docs ]; then
  up_to_date "$1" && exit
  python=$(find_python 3.13 || find_python 3.11) || { say "no Python 3.11 or 3.13 found"; exit 1; }
  make_environment "$1" "$python" "$1"
  [ "$1" != bench ] || check_libraries "$1"
  exit
fi

versions=("$@")
if [ $# = 0 ]; then versions=(3.11 3.13); fi
made=()
for version in "${versions[@]}"; do
  if ! up_to_date "$version"; then
    python=$(find_python "$version") || python=
    # Debian's own Python is there without its venv package, or this version is a must and apt may have it.
    if [ -z "$python" ] && { [ -x "/usr/bin/python$version" ] || [ $# -gt 0 ]; }; then
      install_packages "python$version-venv" && python=$(find_python "$version") || python=
    fi
    if [ -z "$python" ] && [ $# -gt 0 ]; then
      say "Python $version is needed and not found"
      exit 1
    fi
    [ -n "$python" ] || continue
    make_environment "$version" "$python" dev
    check_libraries "$version"
    ".venv/$version/bin/python" -c "import bpy; print('setup: Blender', bpy.app.version_string, 'is ready')" >&2
  fi
  made+=("$version")
done
if [ ${#made[@]} = 0 ]; then
  say "Blender's module needs Python 3.11 or 3.13, and neither was found (Debian: apt-get install python3-venv)"
  exit 1
fi
