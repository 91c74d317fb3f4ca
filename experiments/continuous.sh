#!/bin/sh
# Tries the teams of continuous.toml and continuous-shift.toml where they did not learn; one JSON object per line, on standard output.
#
#     experiments/continuous.sh runs/continuous runs/continuous-shift > docs/results/elsewhere/continuous.ndjson
set -eu
program=${EQUIMARL:-target/release/equimarl}
try() {
    run=$1
    shift
    "$program" play --model "$run" --greedy --episodes 400 --seed 7 --json "$@" 2>/dev/null |
        tr -d '\n' | sed "s|^|{\"run\": \"$(basename "$run")\", \"tried\": \"$*\", \"found\": |; s|$|}|"
    echo
}
for run in "$1"/*; do
    [ -f "$run/model.safetensors" ] || continue
    case $(cat "$run/config.toml") in
    *'name = "spread"'*) for agents in 3 6 12; do try "$run" --agents "$agents"; done ;;
    esac
done
for run in "$2"/*; do
    [ -f "$run/model.safetensors" ] || continue
    case $(cat "$run/config.toml") in
    *'start = "inner"'*) for start in inner outer; do try "$run" --start "$start"; done ;;
    *'start = "left"'*) for start in left right; do try "$run" --start "$start"; done ;;
    esac
done
