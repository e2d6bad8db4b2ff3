#!/usr/bin/env bash
# A Ray cluster of machines started by hand. On the first, which is the head:
#     ./two-machines.sh head
# It prints what to type on every other machine:
#     ./two-machines.sh join HEAD:6379
# Then, on any of them:
#     RAY_AUTH_MODE=token nses train humanoid --backend ray --ray-address HEAD:6379
# and at the end, on each:
#     ray stop
set -euo pipefail

port=6379
token=~/.ray/auth_token

# Ray runs whatever code it is sent: without a token, anybody who reaches the port owns the machines.
export RAY_AUTH_MODE=token
export RAY_USAGE_STATS_ENABLED=0
export RAY_worker_niceness=0

case "${1:-}" in
head)
    if [ ! -s "$token" ]; then
        mkdir -p "$(dirname "$token")"
        (umask 077 && head -c 32 /dev/urandom | od -An -v -tx1 | tr -d ' \n' > "$token")
    fi
    chmod 600 "$token"
    # A machine that vanishes is noticed after seconds; by default it takes a minute.
    export RAY_health_check_period_ms=1000
    export RAY_health_check_timeout_ms=2000
    export RAY_health_check_failure_threshold=3
    ray start --head --port="$port" --include-dashboard=false
    echo "On every other machine, after copying $token to the same place there:"
    echo "    ./two-machines.sh join $(hostname -I | cut -d ' ' -f 1):$port"
    ;;
join)
    if [ ! -s "$token" ]; then
        echo "copy $token from the head to this machine first, and keep it private" >&2
        exit 2
    fi
    chmod 600 "$token"
    ray start --address="${2:?"which head? ./two-machines.sh join HEAD:$port"}"
    ;;
*)
    echo "usage: two-machines.sh head | join HEAD:$port" >&2
    exit 2
    ;;
esac
