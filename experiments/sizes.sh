#!/bin/sh
# Tries teams of budget-wildlife-new.toml, budget-traffic-new.toml and sizes-grid.toml with other numbers of agents than they learned with, and
# controllers beside them; one JSON object per line, on standard output. 7 x 7 cells have room for 48 drones and the poacher, so 100 are tried on 15 x 15.
#
#     experiments/sizes.sh runs/budget-wildlife-new runs/budget-traffic-new runs/sizes-grid > docs/results/elsewhere/sizes.ndjson
set -eu
program=${EQUIMARL:-target/release/equimarl}
try() {
    name=$1
    shift
    "$program" play "$@" --seed 7 --json 2>/dev/null |
        tr -d '\n' | sed "s|^|{\"run\": \"$name\", \"tried\": \"$*\", \"found\": |; s|$|}|"
    echo
}
for drones in 2 3 4 5 6 10 20 48; do
    for run in "$1"/*-equivariant-* "$1"/*-plain-*; do
        [ -f "$run/model.safetensors" ] || continue
        try "$(basename "$run")" --model "$run" --greedy --drones "$drones" --episodes 200
    done
    try greedy --world wildlife --controller greedy --drones "$drones" --episodes 200
done
for drones in 3 6 12 25 50 100; do
    for run in "$3"/*-equivariant-* "$3"/*-plain-*; do
        [ -f "$run/model.safetensors" ] || continue
        try "$(basename "$run")" --model "$run" --greedy --drones "$drones" --episodes 200
    done
    try greedy --world wildlife --controller greedy --grid 15 --drones "$drones" --episodes 200
done
for size in 1x1:100 2x2:100 3x3:50 4x4:50 6x6:20 10x10:10 30x30:3 100x100:1; do
    for run in "$2"/*-equivariant-* "$2"/*-plain-*; do
        [ -f "$run/model.safetensors" ] || continue
        try "$(basename "$run")" --model "$run" --greedy --junctions "${size%:*}" --episodes "${size#*:}"
    done
    for controller in longest-queue fixed-cycle; do
        try "$controller" --world traffic --controller "$controller" --junctions "${size%:*}" --episodes "${size#*:}"
    done
done
