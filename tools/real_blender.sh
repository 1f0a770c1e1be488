#!/usr/bin/env bash
# A real Blender with its windows, from Debian sid in a folder of its own, on a virtual screen of 1600x1000.
#   tools/real_blender.sh setup                                  make the folder once (about a minute)
#   tools/real_blender.sh play ZIP OUT SECONDS SCENARIO [ARG]... install ZIP as a person would, play a scenario, see OUT
#   tools/real_blender.sh bare ZIP OUT SECONDS SCENARIO          play a scenario where ZIP is not installed, but lies in OUT
#   tools/real_blender.sh command ZIP OUT SECONDS ARGUMENTS...   the same without a window: blender --command ARGUMENTS
# Inside, the sources are /tmp/knuckle and OUT is /tmp/out.
# Linux and root only. Mounts and processes live in namespaces of their own and end with this script, however it ends;
# the folder itself is only read: home and /tmp are new every time. Compiled shaders stay in OUT: a start takes a third.
set -euo pipefail

ROOT=${KNUCKLE_BLENDER:-${XDG_CACHE_HOME:-$HOME/.cache}/knuckle-blender}
REPO=$(cd "$(dirname "$0")/.." && pwd)
PACKAGES="blender python3-cattr python3-requests python3-numpy python3-xlib xvfb xdotool libgl1-mesa-dri libegl1"
STAMP="$ROOT/knuckle: $PACKAGES"

say() { echo "real_blender: $*" >&2; }

ALONE="unshare --mount --pid --fork --kill-child --mount-proc --"

setup() {
  if [ "$(uname)-$(id -u)" != Linux-0 ]; then say "a real Blender is set up on Linux by root only"; exit 1; fi
  mkdir -p "$(dirname "$ROOT")"
  # What a killed set-up left running holds the lock too, and is waited for.
  exec 9>"$ROOT.lock"
  flock 9
  if [ -e "$STAMP" ]; then return; fi
  command -v debootstrap >/dev/null || { apt-get -qq update && apt-get -qq install -y debootstrap >/dev/null; }
  # Built beside its place and renamed in the end, so that a half made one is never taken for a whole one.
  rm -rf --one-file-system "$ROOT" "$ROOT.partial"
  mkdir "$ROOT.partial"
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
  say "making $ROOT, about a minute"
  if ! $ALONE bash -euc '
    debootstrap --variant=minbase sid "$0" "$1"
    mount --types proc proc "$0/proc"
    export DEBIAN_FRONTEND=noninteractive
    chroot "$0" apt-get -qq -o Acquire::Check-Valid-Until=false update
    chroot "$0" apt-get -qq install -y --no-install-recommends $2
    chroot "$0" apt-get clean
  ' "$ROOT.partial" "$mirror" "$PACKAGES" >"$ROOT.log" 2>&1; then
    tail -n 20 "$ROOT.log" >&2
    say "failed, see $ROOT.log"
    exit 1
  fi
  touch "$ROOT.partial/$(basename "$STAMP")"
  mv "$ROOT.partial" "$ROOT"
}

# In namespaces of its own: the folder with /proc, an empty /tmp, the sources to read, and OUT.
enter() {
  local out
  mkdir -p "$3"
  out=$(realpath "$3")
  cp "$2" "$out/knuckle.zip"
  mount --types proc proc "$ROOT/proc"
  mount --types tmpfs tmpfs "$ROOT/tmp"
  mkdir "$ROOT/tmp/home" "$ROOT/tmp/knuckle" "$ROOT/tmp/out"
  mount --bind "$REPO" "$ROOT/tmp/knuckle"
  mount --options remount,bind,ro "$ROOT/tmp/knuckle"
  mount --bind "$out" "$ROOT/tmp/out"
  exec chroot "$ROOT" env -i PATH=/usr/bin:/bin HOME=/tmp/home LANG=C.UTF-8 LIBGL_ALWAYS_SOFTWARE=1 \
    MESA_SHADER_CACHE_DIR=/tmp/out/shaders CI="${CI:-}" bash /tmp/knuckle/tools/real_blender.sh "inside-$1" "${@:4}"
}

# The home that holds the installed zip is kept beside OUT's other files for the next time.
install_extension() {
  local kept
  kept=/tmp/out/home-$(cksum </tmp/out/knuckle.zip | tr ' ' -)
  cd "$HOME"
  if [ ! -d "$kept" ]; then
    blender --command extension install-file --repo user_default --enable /tmp/out/knuckle.zip >&2
    rm -rf /tmp/out/home-*
    cp -a "$HOME" "$kept.partial"
    mv "$kept.partial" "$kept"
  fi
  cp -a "$kept/." "$HOME"
}

start_screen() {
  mkdir /tmp/screen
  Xvfb -displayfd 3 -screen 0 1600x1000x24 -fbdir /tmp/screen 3>/tmp/display 2>/dev/null &
  for _ in $(seq 100); do [ -s /tmp/display ] && break; sleep 0.1; done
  DISPLAY=:$(cat /tmp/display)
  export DISPLAY
}

case ${1:-} in
setup) setup ;;
play | bare | command) exec $ALONE bash "$0" "enter-$1" "${@:2}" ;;
enter-*) enter "${1#enter-}" "${@:2}" ;;
inside-play | inside-bare)
  [ "$1" = inside-bare ] || install_extension
  start_screen
  timeout "$2" blender --gpu-backend opengl --window-geometry 0 0 1600 1000 \
    --python /tmp/knuckle/tests/gui/driver.py -- "${@:3}"
  ;;
inside-command)
  install_extension
  timeout "$2" blender --command "${@:3}"
  ;;
*) sed -n '2,10s/^# //p' "$0"; exit 2 ;;
esac
