#!/bin/sh
# Tries the teams of sumo.toml where they did not learn, and the controllers on the same episodes: 4 x 4 as they learned it, 8 x 8, and
# 4 x 4 with one T-junction. One JSON object per line, on standard output. Needs SUMO's netgenerate and netconvert on the path.
#
#     experiments/sumo.sh runs/sumo > docs/results/elsewhere/sumo.ndjson
set -eu
program=${EQUIMARL:-target/release/equimarl}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
netgenerate --grid --grid.number 4 --grid.length 200 --grid.attach-length 200 --turn-lanes 1 --turn-lanes.length 60 \
    --default-junction-type traffic_light --no-turnarounds true --no-warnings true --output-file "$folder/grid.net.xml" >&2
# Without the road from the west to A1, which has three approaches then.
netconvert -s "$folder/grid.net.xml" --remove-edges.explicit left1A1,left1A1.140.00,A1left1 --no-turnarounds true --no-warnings true \
    -o "$folder/tee.net.xml" >&2
try() {
    name=$1
    shift
    # A line that is missing would not be missed; so it ends here, with what was said.
    if ! "$program" play "$@" --episodes 4 --seed 7 --json >"$folder/found" 2>"$folder/said"; then
        cat "$folder/said" >&2
        echo "stopped at $name: play $*" >&2
        exit 1
    fi
    tr -d '\n' <"$folder/found" |
        sed "s|^|{\"run\": \"$name\", \"tried\": \"$(echo "$*" | sed "s|$folder/||g")\", \"found\": |; s|$|}|"
    echo
}
places() {
    try "$@"
    try "$@" --junctions 8x8
    try "$@" --net "$folder/tee.net.xml"
}
for run in "$1"/*; do
    [ -f "$run/model.safetensors" ] || continue
    places "$(basename "$run")" --model "$run" --greedy
done
for tilt in 0 0.4; do
    # Green times are those that docs/sumo.md chose on other episodes.
    [ "$tilt" = 0 ] && cycle=fixed-cycle:3 || cycle=fixed-cycle:4/3
    for controller in program "$cycle" actuated longest-queue max-pressure; do
        places "$controller" --world sumo --tilt "$tilt" --controller "$controller"
    done
done
