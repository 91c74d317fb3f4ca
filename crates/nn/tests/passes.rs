//! Passes on kept memory: the same bits as on fresh memory, errors for what does not belong together, and numbers that
//! are not finite come out at the end.

mod common;

use common::{Random, Screen, State, batch, group, network, outputs, pass, pulls, world};
use equimarl_group::Plane;
use equimarl_nn::{Batch, Cache, Images, Network, NetworkConfig, NetworkKind, PolicyOutput};

const KINDS: [(NetworkKind, &str); 4] = [
    (NetworkKind::Equivariant, "C4"),
    (NetworkKind::Plain, "C1"),
    (NetworkKind::CentralEquivariant, "C4"),
    (NetworkKind::CentralPlain, "C1"),
];

/// A network and batches of so many states each.
fn made((kind, name): (NetworkKind, &str), sizes: &[usize], seed: u64) -> (Network, Vec<Batch>) {
    let group = group(name);
    let (interface, scale) = world("wildlife", &group);
    let network = network(&NetworkConfig::usual(interface, kind, &group), seed);
    let (screen, plane, mut random) =
        (Screen::of(&network, scale), Plane::new(&group).unwrap(), Random::new(seed + 1));
    let mut state = || match kind.is_central() {
        true => State::central(screen, 3, 0.3, &mut random),
        false => {
            let agents = 1 + random.below(5);
            State::random(screen, agents, 0.3, &mut random)
        }
    };
    let states: Vec<Vec<State>> = sizes.iter().map(|&n| (0..n).map(|_| state()).collect()).collect();
    let batches = states.iter().map(|states| batch(states, screen, &network.sharing(), &plane));
    let batches = batches.collect();
    (network, batches)
}

/// Larger, smaller, nothing, larger: what a cache held before does not matter, nor which network used it.
#[test]
fn a_used_cache_gives_the_bits_of_a_fresh_one() {
    let (mut shared, mut said) = (Cache::default(), PolicyOutput::default());
    for (i, which) in KINDS.into_iter().enumerate() {
        let (mut network, batches) = made(which, &[3, 9, 1, 0, 5, 9], 300 + i as u64);
        let (mut own, policy) = (Cache::default(), network.policy().unwrap());
        for batch in &batches {
            let fresh = pass(&mut network.clone(), batch, &mut Cache::default(), 310);
            assert!(
                pass(&mut network, batch, &mut own, 310) == fresh,
                "{which:?}, {} states",
                batch.states()
            );
            assert!(pass(&mut network, batch, &mut shared, 310) == fresh, "{which:?}");
            policy.forward_in(batch, &mut shared, &mut said).unwrap();
            assert_eq!(said, policy.forward(batch).unwrap());
            assert_eq!(said.values, fresh.0.values, "a policy runs the same layers");
        }
        assert!(own.times().encoder + own.times().trunk > std::time::Duration::ZERO);
    }
}

/// Changed coefficients count at the next pass, whichever way they were changed.
#[test]
fn changed_weights_are_seen() {
    for which in KINDS {
        let (mut network, batches) = made(which, &[3], 320);
        let (other, _) = made(which, &[3], 321);
        let (batch, mut cache) = (&batches[0], Cache::default());
        let before = pass(&mut network, batch, &mut cache, 322);
        let old = network.values().to_vec();
        network.values_mut().copy_from_slice(other.values());
        assert!(
            pass(&mut network, batch, &mut cache, 322)
                == pass(&mut other.clone(), batch, &mut Cache::default(), 322)
        );
        let parameters = common::named(&network, &old);
        network.set_parameters(parameters).unwrap();
        assert!(pass(&mut network, batch, &mut cache, 322) == before);
    }
}

#[test]
fn backward_refuses_what_is_not_of_its_forward_pass() {
    for which in KINDS {
        let (mut network, batches) = made(which, &[4, 4, 7], 330);
        let (mut cache, mut gradients) = (Cache::default(), vec![0.0; network.values().len()]);
        let (ours, others) = (&batches[0], &batches[1..]);
        assert!(network.backward(ours, &mut cache, &mut gradients).is_err(), "nothing went forward");
        network.forward(ours, &mut cache).unwrap();
        assert!(network.backward(ours, &mut cache, &mut gradients).is_err(), "no gradients of outputs");
        *cache.output_gradient().1 = pulls(&network, ours, 331);
        assert!(network.backward(ours, &mut cache, &mut gradients[1..]).is_err(), "too few coefficients");
        cache.output_gradient().1.logits.push(0.0);
        assert!(network.backward(ours, &mut cache, &mut gradients).is_err(), "a logit too many");
        cache.output_gradient().1.logits.pop();
        for other in others.iter().filter(|b| b.agents() != ours.agents()) {
            assert!(network.backward(other, &mut cache, &mut gradients).is_err(), "another batch");
        }
        let (fresh, _) = made(which, &[], 330);
        assert!(fresh.backward(ours, &mut cache, &mut gradients).is_err(), "a network without a pass");
        for (mut network, _) in KINDS.into_iter().filter(|k| *k != which).map(|k| made(k, &[], 330)) {
            let mut gradients = vec![0.0; network.values().len()];
            assert!(network.backward(ours, &mut cache, &mut gradients).is_err(), "another network");
            let _ = network.forward(ours, &mut Cache::default());
            assert!(network.backward(ours, &mut cache, &mut gradients).is_err(), "another network");
        }
        network.backward(ours, &mut cache, &mut gradients).unwrap();
    }
}

fn pixels(batch: &mut Batch) -> &mut Vec<f32> {
    match &mut batch.images {
        Images::Pixels(pixels) => pixels,
        Images::Book(_) => panic!("it was painted"),
    }
}

/// Batches can be filled by hand: whatever they say, there is an error and not a panic.
#[test]
fn batches_that_contradict_themselves_are_refused() {
    for which in KINDS {
        let (mut network, batches) = made(which, &[4], 340);
        let changes: [&dyn Fn(&mut Batch); 9] = [
            &|b| b.ids[0] = 1000,
            &|b| b.elements[0] = 1000,
            &|b| b.ids.truncate(1),
            &|b| b.elements.truncate(1),
            &|b| *b.starts.last_mut().unwrap() += 1,
            &|b| b.starts[1] = 1000,
            &|b| b.starts[0] = 1,
            &|b| b.starts.truncate(2),
            &|b| b.graph.end_agent(),
        ];
        for (i, change) in changes.iter().enumerate() {
            let mut wrong = made(which, &[4], 340).1.remove(0);
            change(&mut wrong);
            assert!(network.forward(&wrong, &mut Cache::default()).is_err(), "{which:?}, change {i}");
        }
        let mut cut = made(which, &[4], 340).1.remove(0);
        pixels(&mut cut).pop();
        assert!(network.forward(&cut, &mut Cache::default()).is_err());
        assert!(network.forward(&batches[0], &mut Cache::default()).is_ok());
    }
}

/// A ReLU, a maximum or a mean must not hide a number that is none: one such coefficient anywhere before the heads
/// reaches every output, and one in a head some.
#[test]
fn a_coefficient_that_is_not_a_number_shows() {
    for which in KINDS {
        let (network, batches) = made(which, &[3], 350);
        for (name, range) in network.named() {
            let mut broken = network.clone();
            broken.values_mut()[range.start] = f32::NAN;
            let output = outputs(&broken, &batches[0]);
            let mut numbers = output.logits.iter().chain(&output.values);
            if name.starts_with("policy") || name.starts_with("value") {
                assert!(numbers.any(|y| y.is_nan()), "{which:?}, {name}");
            } else {
                assert!(numbers.all(|y| y.is_nan()), "{which:?}, {name}");
            }
        }
    }
}

/// So does one in the images, and one in the gradients of the outputs.
#[test]
fn an_input_that_is_not_a_number_shows() {
    for which in KINDS {
        let (mut network, batches) = made(which, &[3], 360);
        for value in [f32::NAN, f32::INFINITY] {
            let mut broken = made(which, &[3], 360).1.remove(0);
            let count = 1 + *broken.ids.iter().max().unwrap() as usize;
            let pixels = pixels(&mut broken);
            pixels.fill(0.0);
            // The middle of every image: inside of all but the outermost windows.
            let one = pixels.len() / count;
            pixels.iter_mut().skip(one / 2).step_by(one).for_each(|p| *p = value);
            let output = outputs(&network, &broken);
            let mut numbers = output.logits.iter().chain(&output.values);
            assert!(numbers.all(|y| !y.is_finite()), "{which:?}, {value}");

            let (mut cache, mut gradients) = (Cache::default(), vec![0.0; network.values().len()]);
            network.forward(&batches[0], &mut cache).unwrap();
            *cache.output_gradient().1 = pulls(&network, &batches[0], 361);
            cache.output_gradient().1.values[0] = value;
            network.backward(&batches[0], &mut cache, &mut gradients).unwrap();
            for ((name, _), part) in network.named().iter().zip(common::named(&network, &gradients)) {
                let reached = !name.starts_with("policy");
                assert_eq!(part.iter().any(|g| !g.is_finite()), reached, "{which:?}, {name}, {value}");
            }
        }
    }
}
