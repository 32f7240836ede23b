#!/usr/bin/env bash
# Check the front end: types, lint, unit tests, and that the committed bundle is what the source gives.
# What was green is not checked again until something in web/ or the bundle changes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

if ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 19) ? 0 : 1)' \
    2>/dev/null || ! command -v npm >/dev/null; then
  echo "=================================================================================="
  echo "THE FRONT END WAS NOT CHECKED: it takes Node 20.19 or later, with npm, and there is none."
  echo "The bundle in src/torcheer/app/static is used as it is."
  echo "=================================================================================="
  exit 0
fi

stamp=../build/web-check.stamp
content=$(find . ../src/torcheer/app/static -path ./node_modules -prune -o -type f -print0 | LC_ALL=C sort -z |
  xargs -0 sha256sum | sha256sum)
if [ "$content" = "$(cat "$stamp" 2>/dev/null)" ]; then
  echo "The front end is as it was when it was last checked."
  exit 0
fi

# Installed anew only when the lock file changes.
if ! cmp -s package-lock.json node_modules/.torcheer-lock; then
  if [ -L node_modules ]; then rm node_modules; fi # never through a link into somebody else's
  npm ci --no-progress --loglevel=error || {
    echo "The front end could not be installed. Without Node on the PATH, make test uses the bundle as it is." >&2
    exit 1
  }
  cp package-lock.json node_modules/.torcheer-lock
fi
npm run --silent typecheck
npm run --silent lint
npm run --silent test -- --reporter=dot

built="$(pwd)/../build/static"
npx vite build --outDir "$built" --logLevel error
if ! diff -rq "$built" ../src/torcheer/app/static; then
  echo "The bundle in src/torcheer/app/static is not what web/ gives: run make web, and commit it." >&2
  exit 1
fi
echo "The front end is in order, and the bundle is what the source gives."
echo "$content" >"$stamp"
