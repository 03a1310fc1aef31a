#!/usr/bin/env bash
# Three hosts of one user on this machine: two share a tool, the third calls it.
set -euo pipefail
cd "$(dirname "$0")/../.."
export PATH="$PWD/bin:$PATH"
work=$(mktemp -d)
export XDG_STATE_HOME="$work/state" # the hosts' key, and what the NATS server keeps
ln -s "$PWD/bin/plugins" "$work/plugins"
hosts=()
stop() {
	kill "${hosts[@]}" 2>/dev/null || true
	wait
	rm -rf "$work"
}
trap stop EXIT

host() { # NAME FLAG...
	local name=$1
	shift
	mkdir -p "$work/$name" "$work/none"
	echo "This is host $name." >"$work/$name/name.txt"
	toolhost --socket "$work/$name.sock" --config "$PWD/examples/fleet/toolhost.yaml" --root "$work/$name" --plugin-dir "$work/${plugins:-none}" serve --name "$name" "$@" >"$work/$name.log" 2>&1 &
	hosts+=($!)
	for _ in $(seq 100); do
		toolhost --socket "$work/$name.sock" status >/dev/null 2>&1 && return
		sleep 0.1
	done
	cat "$work/$name.log" >&2
	exit 1
}

port=${PORT:-4222}
plugins=plugins host one --nats "embedded:$port"
plugins=plugins host two --nats "nats://127.0.0.1:$port"
host three --nats "nats://127.0.0.1:$port"
three() { toolhost --socket "$work/three.sock" --config "$PWD/examples/fleet/toolhost.yaml" --root "$work/three" --plugin-dir "$work/none" "$@"; }
three fleet
three call fs.read '{"path":"name.txt"}'
three fleet drain one
three call fs.read '{"path":"name.txt"}'
three tools
call=$(three call --detach fs.list) # it waits in a queue until a host takes it
three jobs show "$call" --wait
three jobs
