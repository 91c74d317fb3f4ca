//! Same bits on any number of threads, forward and backward.

mod common;

use common::{Random, Screen, State, batch, everything, group, network, worlds};
use equimarl_group::Plane;
use equimarl_nn::{NetworkConfig, NetworkKind};

/// Large enough that kernels share their work: they stay on one thread below two million multiply-adds, which a round of
/// 64 features passes at 500 agents.
#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (kind, name, world) in [
        (NetworkKind::Equivariant, "C4", "wildlife"),
        (NetworkKind::Plain, "C1", "wildlife"),
        (NetworkKind::Equivariant, "D4", "traffic"),
        (NetworkKind::CentralEquivariant, "C4", "wildlife"),
        (NetworkKind::CentralPlain, "C1", "traffic"),
    ] {
        let group = group(name);
        let (interface, scale) = match world {
            "wildlife" => (worlds::wildlife(4, 7, &group), 3),
            _ => (worlds::traffic(2, 2, &group), 5),
        };
        let config = NetworkConfig::usual(interface, kind, &group);
        let network = network(&config, 110);
        let policy = network.policy().unwrap();
        let (screen, mut random) = (Screen::of(&network, scale), Random::new(111));
        let mut states: Vec<State> = (0..20)
            .map(|_| match kind.is_central() {
                true => State::central(screen, 4, 0.3, &mut random),
                false => State::random(screen, 4, 0.3, &mut random),
            })
            .collect();
        if !kind.is_central() {
            // The same images for many more agents.
            (0..7).for_each(|_| states.extend_from_within(..20));
        }
        let plane = Plane::new(&group).unwrap();
        let batch = batch(&states, screen, &network.sharing(), &plane);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| (everything(&network, &batch, 112), policy.forward(&batch).unwrap()))
        };
        let one = run(1);
        assert!(one.0.2.iter().flatten().all(|g| g.is_finite()));
        for threads in [2, 2, 3] {
            assert!(run(threads) == one, "{kind} {world} under {name}: other bits with {threads} threads");
        }
    }
}
