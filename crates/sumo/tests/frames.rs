//! Frames that Eclipse's own Python client wrote and SUMO answered (`frames/record.py`): we write the same bytes and read the
//! same values. Needs no SUMO.

use equimarl_sumo::wire::{Frame, Reader, Value as Told, id};
use serde_json::Value;

fn recorded() -> Value {
    serde_json::from_str(include_str!("frames/recorded.json")).unwrap()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn exchange(name: &str) -> [Vec<u8>; 2] {
    let all = recorded();
    let found = all["exchanges"].as_array().unwrap().iter().find(|e| e["name"] == name).unwrap().clone();
    ["sent", "got"].map(|k| bytes(found[k].as_str().unwrap()))
}

const VEHICLE: [u8; 5] = [id::LANE, id::LANE_POSITION, id::SPEED, id::WAITING, id::POSITION];

#[test]
fn we_write_what_the_reference_client_writes() {
    let written = |fill: &dyn Fn(&mut Frame)| {
        let mut frame = Frame::default();
        fill(&mut frame);
        frame.finish()
    };
    assert_eq!(written(&|f| f.watch(id::WATCH_LIGHT, "A0", &[id::STATE])), exchange("watch light")[0]);
    assert_eq!(
        written(&|f| f.watch(id::WATCH_SIMULATION, "", &[id::PENDING])),
        exchange("watch simulation")[0]
    );
    assert_eq!(written(&|f| f.watch_vehicles("A0", 1e7, &VEHICLE)), exchange("watch vehicles")[0]);
    let states = [(3.0, "yyyrrryyyrrr"), (1e6, "rrrGGgrrrGGg")];
    let both = [&exchange("light")[0][4..], &exchange("phase")[0][4..]].concat();
    assert_eq!(written(&|f| f.light("A0", &states))[4..], both);
    assert_eq!(written(&|f| f.program("A0", "0")), exchange("program")[0]);
    assert_eq!(written(&|f| f.step_to(20.0)), exchange("step")[0]);
}

#[test]
fn we_read_what_the_reference_client_reads() {
    for (name, command) in [
        ("watch light", id::WATCH_LIGHT),
        ("watch simulation", id::WATCH_SIMULATION),
        ("watch vehicles", id::WATCH_AROUND_JUNCTION),
    ] {
        Reader::new(&exchange(name)[1][4..]).watched(command).unwrap();
    }
    Reader::new(&exchange("light")[1][4..]).status(id::SET_LIGHT).unwrap();
    let news = Reader::new(&exchange("step")[1][4..]).news().unwrap();
    let expected = recorded();
    assert_eq!(news.lights.len(), 1);
    assert_eq!(news.lights[0].get(id::STATE).unwrap().text().unwrap(), expected["light"]);
    assert_eq!(news.simulation.unwrap().get(id::PENDING).unwrap(), &Told::Texts(vec![]));
    let vehicles = expected["vehicles"].as_object().unwrap();
    assert_eq!(news.vehicles.len(), vehicles.len());
    for vehicle in &news.vehicles {
        let right = &vehicles[&vehicle.what];
        assert_eq!(vehicle.get(id::LANE).unwrap().text().unwrap(), right["lane"]);
        for (variable, key) in
            [(id::LANE_POSITION, "position"), (id::SPEED, "speed"), (id::WAITING, "waiting")]
        {
            assert_eq!(vehicle.get(variable).unwrap().number().unwrap(), right[key].as_f64().unwrap());
        }
        let at = [0, 1].map(|k| right["at"][k].as_f64().unwrap());
        assert_eq!(vehicle.get(id::POSITION).unwrap(), &Told::Point(at));
    }
}

/// Whatever comes over the wire is read or refused: every start of an answer, and every byte of it changed.
#[test]
fn garbled_answers_are_refused_without_panic() {
    let whole = exchange("step")[1][4..].to_vec();
    for end in 0..whole.len() {
        assert!(Reader::new(&whole[..end]).news().is_err());
    }
    for place in 0..whole.len() {
        for change in [1u8, 0x7f, 0x80, 0xff] {
            let mut other = whole.clone();
            other[place] ^= change;
            let _ = Reader::new(&other).news();
        }
    }
    let mut refused = vec![0x0c, id::STEP, 0xff, 0, 0, 0, 5];
    refused.extend(b"hello");
    assert!(Reader::new(&refused).news().unwrap_err().to_string().contains("hello"));
}
