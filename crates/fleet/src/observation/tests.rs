use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

fn image() -> Shape {
    Shape { image: true, numbers: 3, edge: 2, senders: vec![], cause: 0 }
}

fn features() -> Shape {
    Shape { image: false, numbers: 4, edge: 3, senders: vec![2, 0], cause: 2 }
}

fn seen() -> Observation {
    Observation {
        own: vec![0.5, -0.0, 1e-30, 7.0],
        neighbours: vec![Member::agent(1), Member::agent(7)],
        edges: vec![1.0, -1.0, 0.0, 0.5, 0.25, -3.0],
        senders: vec![
            Sensed { edges: vec![1.0, 2.0, 3.0], features: vec![9.0, 8.0] },
            Sensed { edges: vec![4.0; 6], features: vec![] },
        ],
        cause: vec![0.3, -0.4],
    }
}

#[test]
fn images_come_back_in_few_bytes() {
    let seen = Observation {
        own: vec![0.0, 1.0, 0.1],
        neighbours: vec![Member::agent(1), Member::agent(7)],
        edges: vec![1.0, -1.0, 0.0, 0.5],
        ..Default::default()
    };
    let bytes = seen.write(&image()).unwrap();
    // What, numbers per edge, two counts; two neighbours; the image: its length, three colours, two bits each.
    assert_eq!(bytes.len(), 6 + 2 * 12 + 4 + 1 + 12 + 1);
    assert_eq!(Observation::read(&bytes, &image()), Ok(seen));
}

#[test]
fn features_edges_and_senders_come_back_bit_for_bit() {
    let bytes = seen().write(&features()).unwrap();
    let back = Observation::read(&bytes, &features()).unwrap();
    assert_eq!(back, seen());
    assert!(back.own[1].is_sign_negative());
    let (own, cause) = (vec![0.0; 4], vec![0.0; 2]);
    let nobody = Observation { own, cause, senders: vec![Sensed::default(); 2], ..Default::default() };
    assert_eq!(Observation::read(&nobody.write(&features()).unwrap(), &features()), Ok(nobody));
}

#[test]
fn other_shapes_are_refused() {
    let bytes = seen().write(&features()).unwrap();
    for other in [
        Shape { image: true, ..features() },
        Shape { numbers: 3, ..features() },
        Shape { edge: 2, ..features() },
        Shape { senders: vec![2], ..features() },
        Shape { senders: vec![0, 2], ..features() },
        Shape { senders: vec![2, 0, 0], ..features() },
        Shape { senders: vec![usize::MAX, 0], ..features() },
        Shape { numbers: usize::MAX, ..features() },
        Shape { cause: 0, ..features() },
        Shape { cause: 3, ..features() },
        Shape { cause: usize::MAX, ..features() },
        image(),
    ] {
        assert_eq!(Observation::read(&bytes, &other), Err(Reason::Malformed), "{other:?}");
    }
}

#[test]
fn not_a_byte_more_or_less_is_read() {
    let bytes = seen().write(&features()).unwrap();
    for length in 0..bytes.len() {
        assert_eq!(Observation::read(&bytes[..length], &features()), Err(Reason::Malformed));
    }
    let longer = [&bytes[..], &[0]].concat();
    assert_eq!(Observation::read(&longer, &features()), Err(Reason::Malformed));
}

#[test]
fn counts_that_promise_too_much_are_refused() {
    let good = seen().write(&features()).unwrap();
    let first_kind = 6 + 2 * 4 + 6 * 4;
    for (at, count) in [(3, u16::MAX), (3, 1025), (3, 3), (first_kind, u16::MAX), (first_kind, 4096)] {
        let mut bytes = good.clone();
        bytes[at..at + 2].copy_from_slice(&count.to_le_bytes());
        assert_eq!(Observation::read(&bytes, &features()), Err(Reason::Malformed), "{count} at {at}");
    }
    // Even if all the bytes are there.
    let many = MAX_SENDERS + 1;
    let mut bytes = vec![1, 1, 0, 0, 0, 1];
    bytes.extend_from_slice(&(many as u16).to_le_bytes());
    bytes.resize(bytes.len() + 4 * many, 0);
    bytes.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    let shape = Shape { image: false, numbers: 1, edge: 1, senders: vec![0], cause: 0 };
    assert_eq!(Observation::read(&bytes, &shape), Err(Reason::Malformed));
}

#[test]
fn nonsense_is_refused() {
    let change = |change: &dyn Fn(&mut Observation)| {
        let mut seen = seen();
        change(&mut seen);
        Observation::read(&seen.write(&features()).unwrap(), &features())
    };
    let bad = Err(Reason::Malformed);
    assert_eq!(change(&|seen| seen.neighbours.reverse()), bad, "out of order");
    assert_eq!(change(&|seen| seen.neighbours[0] = seen.neighbours[1]), bad, "twice");
    assert_eq!(change(&|seen| seen.neighbours[1] = Member::WORLD), bad, "the world is no neighbour");
    for hole in [f32::NAN, f32::INFINITY] {
        assert_eq!(change(&|seen| seen.own[2] = hole), bad);
        assert_eq!(change(&|seen| seen.edges[4] = hole), bad);
        assert_eq!(change(&|seen| seen.senders[0].features[1] = hole), bad);
        assert_eq!(change(&|seen| seen.senders[1].edges[5] = hole), bad);
        assert_eq!(change(&|seen| seen.cause[1] = hole), bad);
    }
}

#[test]
fn what_does_not_fit_into_a_message_is_not_written() {
    let crowd = Observation {
        neighbours: vec![Member::agent(2); MAX_NEIGHBOURS + 1],
        edges: vec![0.0; 3 * MAX_NEIGHBOURS + 3],
        ..seen()
    };
    assert_eq!(crowd.write(&features()), None);
    let mut forest = seen();
    forest.senders[1].edges = vec![0.0; 3 * (MAX_SENDERS + 1)];
    assert_eq!(forest.write(&features()), None);
    let long = Observation { own: vec![0.5; MAX_PAYLOAD / 4], ..seen() };
    assert_eq!(long.write(&Shape { numbers: MAX_PAYLOAD / 4, ..features() }), None);
    assert_eq!(seen().write(&Shape { edge: 1 << 16, ..features() }), None);
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..300), numbers in 0usize..500) {
        let _ = Observation::read(&bytes, &Shape { numbers, ..image() });
        let _ = Observation::read(&bytes, &Shape { numbers, ..features() });
    }

    /// Noise rarely gets past the first bytes; this does.
    #[test]
    fn changed_bytes_are_read_without_harm(changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = seen().write(&features()).unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(seen) = Observation::read(&bytes, &features()) {
            prop_assert_eq!(seen.write(&features()), Some(bytes));
        }
    }

    #[test]
    fn any_observation_comes_back(
        (numbers, edge, dims, cause) in (1usize..20, 1usize..5, vec(0usize..4, 0..4), 0usize..3),
        (neighbours, counts) in (0usize..20, vec(0usize..9, 4)),
        value in -1e3f32..1e3,
    ) {
        let some = |n: usize| (0..n).map(|i| value + i as f32).collect::<Vec<f32>>();
        let sensed = |(dim, count): (&usize, &usize)| {
            Sensed { edges: some(count * edge), features: some(count * dim) }
        };
        let seen = Observation {
            own: some(numbers),
            neighbours: (0..neighbours).map(Member::agent).collect(),
            edges: some(neighbours * edge),
            senders: dims.iter().zip(&counts).map(sensed).collect(),
            cause: some(cause),
        };
        let shape = Shape { image: numbers % 2 == 0, numbers, edge, senders: dims, cause };
        prop_assert_eq!(Observation::read(&seen.write(&shape).unwrap(), &shape), Ok(seen));
    }
}
