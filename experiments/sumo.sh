#!/bin/sh
# Tries the teams of sumo.toml where they did not learn, and the controllers on the same episodes: 8 x 8 junctions, and 4 x 4 with one
# T-junction; controllers also on the episodes that teams are evaluated on. One JSON object per line, on standard output. Needs
# SUMO's netgenerate and netconvert on the path.
#
#     experiments/sumo.sh teams runs/sumo > docs/results/elsewhere/sumo-teams.ndjson
#     experiments/sumo.sh controllers > docs/results/elsewhere/sumo-controllers.ndjson
#
# Or teaches teams the T-junction, from nothing and from the teams of sumo-long.toml, and tries them there and on the usual grid:
#
#     experiments/sumo.sh tee runs/sumo-long runs/sumo-tee > docs/results/elsewhere/sumo-tee.ndjson
set -eu
case ${1-},$# in
teams,2 | controllers,1 | tee,3) ;;
*)
    echo "give what to try: experiments/sumo.sh teams FOLDER_OF_RUNS, experiments/sumo.sh controllers, or experiments/sumo.sh tee FROM TO" >&2
    exit 2
    ;;
esac
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
    if ! "$program" play "$@" --json >"$folder/found" 2>"$folder/said"; then
        cat "$folder/said" >&2
        echo "stopped at $name: play $*" >&2
        exit 1
    fi
    tr -d '\n' <"$folder/found" |
        sed "s|^|{\"run\": \"$name\", \"tried\": \"$(echo "$*" | sed "s|$folder/||g")\", \"found\": |; s|$|}|"
    echo
}
places() {
    try "$@" --episodes 1 --seed 7 --junctions 8x8
    try "$@" --episodes 2 --seed 7 --net "$folder/tee.net.xml"
}
if [ "$1" = teams ]; then
    for run in "$2"/*; do
        [ -f "$run/model.safetensors" ] || continue
        places "$(basename "$run")" --model "$run" --greedy
    done
    exit
fi
taught() {
    name=$1
    shift
    if ! "$program" train --world sumo --net "$folder/tee.net.xml" --set evaluate_every=0 --set evaluate_episodes=5 --quiet "$@" --out "$to/$name" >&2; then
        echo "stopped at $name: train $*" >&2
        exit 1
    fi
    try "$name" --model "$to/$name" --greedy --episodes 2 --seed 7 --net "$folder/tee.net.xml"
    try "$name" --model "$to/$name" --greedy --episodes 2 --seed 7 --net "" --junctions 4x4
}
if [ "$1" = tee ]; then
    from=$2 to=$3
    for seed in ${SEEDS:-1 2}; do
        for method in equivariant plain; do
            taught "$method-new-$seed" --method "$method" --seed "$seed" --steps 10000 --set learning_rate=3e-3
            taught "$method-on-$seed" --method "$method" --seed "$seed" --steps 3000 --from "$from/sumo-4x4-$method-0.003-$seed"
        done
    done
    exit
fi
for tilt in 0 0.4; do
    # Green times are those that docs/sumo.md chose on other episodes.
    [ "$tilt" = 0 ] && cycle=fixed-cycle:3 || cycle=fixed-cycle:4/3
    for controller in program "$cycle" "$cycle+0" actuated two-phase-actuated "longest-queue --min-green 15" "max-pressure --min-green 15"; do
        # The words of one that has settings.
        set -- $controller
        name=$1
        shift
        set -- --world sumo --tilt "$tilt" --controller "$name" "$@"
        try "$name" "$@" --episodes 5 --seed 0
        places "$name" "$@"
    done
done
