#!/usr/bin/env bash
# A real Blender with its windows, from Debian sid in a folder of its own, on a virtual screen of 1600x1000.
#   tools/real_blender.sh setup                          make the folder once (two to three minutes)
#   tools/real_blender.sh run ZIP SCENARIO OUT SECONDS   install ZIP as a person would, play SCENARIO.py, results into OUT
#   tools/real_blender.sh blender ARGUMENTS...           that Blender, without a window
# Linux and root only. Mounts and processes live in namespaces of their own and end with this script, however it ends;
# the folder itself is only read: home and /tmp are new every time.
set -euo pipefail

ROOT=${KNUCKLE_BLENDER:-${XDG_CACHE_HOME:-$HOME/.cache}/knuckle-blender}
REPO=$(cd "$(dirname "$0")/.." && pwd)
PACKAGES="blender python3-cattr python3-requests python3-numpy python3-xlib xvfb xdotool libgl1-mesa-dri libegl1"
STAMP="$ROOT/knuckle: $PACKAGES"

say() { echo "real_blender: $*" >&2; }

ALONE="unshare --mount --pid --fork --kill-child --mount-proc --"

setup() {
  if [ -e "$STAMP" ]; then return; fi
  command -v debootstrap >/dev/null || { apt-get -qq update && apt-get -qq install -y debootstrap >/dev/null; }
  # Built beside its place and renamed in the end, so that a set-up that was killed is never taken for a whole one.
  rm -rf --one-file-system "$ROOT" "$ROOT.partial"
  mkdir -p "$ROOT.partial"
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
  say "making $ROOT, about three minutes"
  $ALONE bash -euc '
    debootstrap --variant=minbase sid "$0" "$1"
    mount --types proc proc "$0/proc"
    export DEBIAN_FRONTEND=noninteractive
    chroot "$0" apt-get -qq -o Acquire::Check-Valid-Until=false update
    chroot "$0" apt-get -qq install -y --no-install-recommends $2
    chroot "$0" apt-get clean
  ' "$ROOT.partial" "$mirror" "$PACKAGES" >"$ROOT.log" 2>&1 || { tail -n 20 "$ROOT.log" >&2; say "failed, see $ROOT.log"; exit 1; }
  mv "$ROOT.partial" "$ROOT"
  touch "$STAMP"
}

# Runs as root of the namespaces: brings /proc, an empty /tmp, the sources and the results' folder into the folder.
enter() {
  local out=$1
  shift
  mount --types proc proc "$ROOT/proc"
  mount --types tmpfs tmpfs "$ROOT/tmp"
  mkdir "$ROOT/tmp/home" "$ROOT/tmp/knuckle" "$ROOT/tmp/out"
  mount --bind "$REPO" "$ROOT/tmp/knuckle"
  mount --options remount,bind,ro "$ROOT/tmp/knuckle"
  mount --bind "$out" "$ROOT/tmp/out"
  exec chroot "$ROOT" env -i PATH=/usr/bin:/bin HOME=/tmp/home LANG=C.UTF-8 LIBGL_ALWAYS_SOFTWARE=1 "$@"
}

play() {
  local zip=$1 scenario=$2 seconds=$3
  cd /tmp/home
  mkdir /tmp/screen
  Xvfb -displayfd 3 -screen 0 1600x1000x24 -fbdir /tmp/screen 3>/tmp/display 2>/dev/null &
  for _ in $(seq 100); do [ -s /tmp/display ] && break; sleep 0.1; done
  DISPLAY=:$(cat /tmp/display)
  export DISPLAY
  blender --command extension install-file --repo user_default --enable "/tmp/out/$zip"
  timeout "$seconds" blender --gpu-backend opengl --window-geometry 0 0 1600 1000 \
    --python /tmp/knuckle/tests/gui/driver.py -- "$scenario"
}

case ${1:-} in
setup)
  if [ "$(uname)-$(id -u)" != Linux-0 ]; then say "a real Blender is set up on Linux by root only"; exit 1; fi
  setup
  ;;
run) shift; exec $ALONE bash "$0" enter-and-play "$@" ;;
enter-and-play)
  cp "$2" "$4/knuckle.zip"
  enter "$(realpath "$4")" bash /tmp/knuckle/tools/real_blender.sh play knuckle.zip "$3" "$5"
  ;;
play) shift; play "$@" ;;
blender) shift; exec $ALONE bash "$0" enter-blender "$@" ;;
enter-blender) shift; enter "$(mktemp -d)" blender --background "$@" ;;
*) sed -n '2,7s/^# //p' "$0"; exit 2 ;;
esac
