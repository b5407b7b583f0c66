#!/usr/bin/env bash
# Brings a Horae that a service manager runs to another version, and back again if that one is not healthy.
#
#   deploy/update.sh 'horae[all]==0.2.0'      a requirement, or the path of a wheel
#
# Stop, back up, upgrade the store, start, look at /readyz. When the new version does not begin or is not ready in time, the
# old one is put back; where the store had been brought to a newer schema, the backup too. Nobody is served in between, so
# nothing that was acknowledged is lost either way. Run it again after whatever went wrong: it goes on from what is there.
#
#   HORAE_HOME      /opt/horae    releases/ (one virtual environment each), current (a link to one of them), backups/
#   HORAE_ENV       /etc/horae/horae.env    the settings of the service, if that file is there
#   HORAE_EXTRAS    all           which extras a wheel is installed with; empty: none
#   HORAE_PYTHON    python3       the interpreter that new environments are made with
#   HORAE_PIP_OPTIONS             more options for pip, such as --index-url
#   HORAE_STOP      systemctl stop horae
#   HORAE_START     systemctl start horae
#   HORAE_HEALTH    http://127.0.0.1:4672/readyz
#   HORAE_PATIENCE  60            seconds until it has to be ready
#   HORAE_KEEP      3             how many old releases and backups are kept
#   HORAE_BACKUP, HORAE_RESTORE   commands that get a file name as $1; for stores other than SQLite and PostgreSQL they have
#                                 to be given
set -euo pipefail
umask 077

home=${HORAE_HOME:-/opt/horae}
python=${HORAE_PYTHON:-python3}
health=${HORAE_HEALTH:-http://127.0.0.1:4672/readyz}
keep=${HORAE_KEEP:-3}
settings=${HORAE_ENV:-/etc/horae/horae.env}
extras=${HORAE_EXTRAS-all}
patience=${HORAE_PATIENCE:-60}
current=$home/current

say() { printf '%s\n' "update: $*"; }
fail() {
  say "$*" >&2
  exit 1
}

[ $# -eq 1 ] && [ -n "$1" ] || fail "usage: update.sh REQUIREMENT | WHEEL"
what=$1
mkdir -p "$home/releases" "$home/backups"
exec 9>"$home/.lock"
flock -n 9 || fail "another update is under way"

if [ -r "$settings" ]; then
  set -a
  # shellcheck disable=SC1090
  . "$settings"
  set +a
fi
store=${HORAE_STORE:-sqlite:////var/lib/horae/horae.db}
export HORAE_STORE=$store

stop() { bash -c "${HORAE_STOP:-systemctl stop horae}" 9>&-; }
start() { bash -c "${HORAE_START:-systemctl start horae}" 9>&-; }
horae() { "$1/bin/horae" "${@:2}" 9>&-; }
version() { "$1/bin/python" -P -c 'from horae.version import __version__ as v; print(v)'; }
use() {
  ln -sfn "$1" "$home/.next"
  mv -Tf "$home/.next" "$current"
}

ready() { # release, seconds: until the service says that it is, in that version
  "$1/bin/python" -P - "$health" "$2" "$(version "$1")" <<'PYTHON'
import json, sys, time, urllib.request
url, patience, wanted = sys.argv[1], float(sys.argv[2]), sys.argv[3]
until, said = time.monotonic() + patience, "nobody answers"
while time.monotonic() < until:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
            found = json.load(answer)
        if found.get("version") == wanted:
            raise SystemExit(0)
        said = f"version {found.get('version')} answers"
    except OSError as error:
        said = str(error)
    except ValueError as error:
        said = f"no JSON: {error}"
    time.sleep(0.2)
print(f"update: {url}: {said}", file=sys.stderr)
raise SystemExit(1)
PYTHON
}

postgres() { # program, arguments…; where and as whom is told by a file, not by an argument that others could read
  local service
  service=$(mktemp "$home/.service.XXXXXX")
  "$python" -P - "$service" <<'PYTHON'
import os, sys
from urllib.parse import parse_qsl, unquote, urlsplit
url = urlsplit(os.environ["HORAE_STORE"])
known = {"sslmode", "sslrootcert", "sslcert", "sslkey", "host", "port", "user", "password", "passfile"}
where = {"host": url.hostname, "port": url.port, "user": url.username, "password": url.password, "dbname": url.path[1:]}
where = {name: unquote(str(value)) for name, value in where.items() if value}
where |= {name: value for name, value in parse_qsl(url.query) if name in known}
with open(sys.argv[1], "w", encoding="utf-8") as file:
    file.write("[horae]\n" + "".join(f"{name}={value}\n" for name, value in where.items()))
PYTHON
  local code=0
  PGSERVICEFILE=$service PGSERVICE=horae "$@" 9>&- || code=$?
  rm -f "$service"
  return $code
}

installed() { # release, what; by the interpreter's own pip where it has one that can, which saves a copy in each release
  local pip=("$1/bin/python" -m pip) without=()
  if "$python" -m pip --python "$python" --version >/dev/null 2>&1; then
    pip=("$python" -m pip --python "$1/bin/python") without=(--without-pip)
  fi
  # shellcheck disable=SC2086 # options, word by word
  "$python" -m venv "${without[@]}" "$1" &&
    "${pip[@]}" install --quiet --disable-pip-version-check ${HORAE_PIP_OPTIONS:-} "$2"
}

schema_of_store() { "$python" -P -c 'import os; from urllib.parse import *; print(dict(parse_qsl(urlsplit(os.environ["HORAE_STORE"]).query)).get("schema", "horae"))'; }

backup() { # release, file
  if [ -n "${HORAE_BACKUP:-}" ]; then
    bash -c "$HORAE_BACKUP" backup "$2" 9>&-
  else
    case $store in
      sqlite:*) horae "$1" db backup "$2" --yes --quiet >/dev/null ;;
      postgres*) postgres pg_dump --format=custom --schema="$(schema_of_store)" --file="$2" ;;
    esac
  fi
}

restore() { # release, file
  if [ -n "${HORAE_RESTORE:-}" ]; then
    bash -c "$HORAE_RESTORE" restore "$2" 9>&-
  else
    case $store in
      sqlite:*) horae "$1" db restore "$2" --yes --quiet >/dev/null ;;
      postgres*) # what the new version has added would be in the way of what comes back
        postgres psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 --command="SET client_min_messages = warning; DROP SCHEMA IF EXISTS \"$(schema_of_store)\" CASCADE" &&
          postgres pg_restore --exit-on-error --single-transaction --dbname=service=horae "$2"
        ;;
    esac
  fi
}

upgraded() { # brings the store up to the schema of a release; succeeds if that changed anything
  local said
  said=$(horae "$1" db upgrade --json) || return 2
  "$1/bin/python" -P -c 'import json, sys; found = json.load(sys.stdin); raise SystemExit(found["before"] == found["after"])' <<<"$said"
}

# --- the new release, beside the old one: until it is complete, nothing else is touched ----------------------------------

case $store in
  sqlite:* | postgres*) ;;
  *) [ -n "${HORAE_BACKUP:-}" ] && [ -n "${HORAE_RESTORE:-}" ] || fail "HORAE_BACKUP and HORAE_RESTORE have to say how this store is backed up" ;;
esac
if [ -f "$what" ]; then
  what=$(realpath "$what")
  mark="$(basename "$what") $(sha256sum <"$what" | cut -d' ' -f1)"
  wanted=$what${extras:+[$extras]}
else
  mark=$what
  wanted=$what
fi
old=$(readlink -f "$current" 2>/dev/null || true)
[ -d "$old" ] || old=
fresh=
for each in "$home"/releases/*/; do
  [ -d "$each" ] || continue
  each=$(readlink -f "$each")
  if [ ! -f "$each/.mark" ]; then
    [ "$each" = "$old" ] || rm -rf "$each" # somebody broke off while it was built
  elif [ "$(cat "$each/.mark")" = "$mark" ]; then
    fresh=$each
  fi
done
if [ -z "$fresh" ]; then
  # A virtual environment knows its own path: it is built where it stays, and counts when its mark is there.
  fresh=$(readlink -f "$home/releases")/$(date -u +%Y%m%dT%H%M%SZ)-$$
  say "building $fresh"
  # The service's own user has to read it.
  if ! (umask 022 && installed "$fresh" "$wanted" && version "$fresh" >/dev/null); then
    rm -rf "$fresh"
    fail "it cannot be installed; nothing was changed"
  fi
  printf '%s\n' "$mark" >"$fresh/.mark"
fi
if [ "$fresh" = "$old" ]; then
  if ! ready "$fresh" 5 2>/dev/null; then
    start
    ready "$fresh" "$patience" || fail "$(version "$fresh") is in use already, and is not ready"
  fi
  say "$(version "$fresh") is in use already, and ready"
  exit 0
fi

# --- the change --------------------------------------------------------------------------------------------------------

copy=$home/backups/$(date -u +%Y%m%dT%H%M%SZ)-$$.backup
migrated=no

back() {
  trap '' INT TERM
  say "back to what was there: $1" >&2
  stop || true
  if [ -z "$old" ]; then
    rm -f "$current"
    fail "there was nothing before, and nothing runs now"
  fi
  use "$old"
  if [ "$migrated" = yes ]; then
    restore "$old" "$copy" || fail "the backup $copy could not be brought back, and nothing runs now"
  fi
  start || true
  ready "$old" 120 || fail "$(version "$old") was put back, and is not ready"
  fail "$(version "$old") runs again"
}
trap 'back "interrupted"' INT TERM

say "from $([ -n "$old" ] && version "$old" || echo nothing) to $(version "$fresh")"
if [ -n "$old" ]; then
  stop || back "it cannot be stopped"
  if [[ $store != sqlite:* ]] || [ -e "$(horae "$old" db path)" ]; then
    backup "$old" "$copy" || back "there is no backup"
    say "backup in $copy"
    migrated=yes # from here on the store may be newer than the old release can read
    code=0
    upgraded "$fresh" || code=$?
    case $code in
      0) ;;
      1) migrated=no ;; # it is as it was
      *) back "the store cannot be upgraded" ;;
    esac
  fi
fi
use "$fresh"
start || back "$(version "$fresh") cannot be started"
ready "$fresh" "$patience" || back "$(version "$fresh") did not become ready"
trap - INT TERM

# --- what is no longer needed --------------------------------------------------------------------------------------------

find "$home/releases" -mindepth 1 -maxdepth 1 -type d ! -path "*/$(basename "$fresh")" ! -path "*/$(basename "${old:-$fresh}")" -printf '%T@ %p\n' |
  sort -rn | tail -n "+$keep" | cut -d' ' -f2- | xargs -r -d '\n' rm -rf
find "$home/backups" -maxdepth 1 -name '*.backup' -printf '%T@ %p\n' |
  sort -rn | tail -n "+$((keep + 1))" | cut -d' ' -f2- | xargs -r -d '\n' rm -f
say "$(version "$fresh") runs and is ready"
