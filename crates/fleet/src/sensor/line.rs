//! Lines between an agent and the program that is its body.
//!
//! ```text
//! observation, JSON   {"own": [0.5, ...], "neighbours": [{"agent": 2, "edge": [1, 0]}, ...]}
//! observation, raw    0.5 ... ; 2 1 0 ; ...
//! action, JSON        {"step": 17, "action": 3, "missed": 0}      action null: hold still
//! action, raw         17 3 0                                      action -1: hold still
//! vector, JSON        {"step": 17, "action": [0.5, -0.25], "missed": 0}
//! vector, raw         17 v 0.5 -0.25 0
//! ```
//!
//! Teams that act by vectors say those instead of a number; hold still is said as always.
//!
//! `own` are the pixels or features that the model sees, `edge` is the vector from that neighbour to this agent. Who wants a
//! certain step for an observation says `"step": 17`, or begins a raw line with `@17`; otherwise it is of the step in which it
//! comes. Models that know other senders take `"senders": [[{"edge": [...], "features": [...]}, ...], ...]`, one list per kind;
//! raw lines have none. Models that are told what breaks the symmetry take it as `"cause": [...]`, in JSON. The agent answers in the format in which it was talked to, and says
//! nothing before that.

use crate::member::Member;
use crate::observation::{Observation, Sensed};
use crate::payload::Action;
use crate::shape::Shape;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    step: Option<u64>,
    own: Vec<f32>,
    #[serde(default)]
    neighbours: Vec<Near>,
    #[serde(default)]
    senders: Vec<Vec<Thing>>,
    #[serde(default)]
    cause: Vec<f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Near {
    agent: u32,
    edge: Vec<f32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Thing {
    edge: Vec<f32>,
    #[serde(default)]
    features: Vec<f32>,
}

/// Reads an observation, and the step that it is for if it says so.
pub(crate) fn observation(line: &[u8], shape: &Shape) -> Result<(Option<u64>, Observation), String> {
    let text = std::str::from_utf8(line).map_err(|_| "it is no text".to_string())?.trim();
    let said = match text.starts_with('{') {
        true => serde_json::from_str(text).map_err(|e| e.to_string())?,
        false => raw(text)?,
    };
    let mut seen = Observation { own: said.own, cause: said.cause, ..Observation::default() };
    let mut near = said.neighbours;
    near.sort_by_key(|near| near.agent);
    for Near { agent, edge } in near {
        if edge.len() != shape.edge {
            return Err(format!(
                "the edge vector of agent {agent} has {} numbers, and the model takes {}",
                edge.len(),
                shape.edge
            ));
        }
        seen.neighbours.push(Member::from_code(agent));
        seen.edges.extend(edge);
    }
    for kind in said.senders {
        let mut sensed = Sensed::default();
        for thing in kind {
            sensed.edges.extend(thing.edge);
            sensed.features.extend(thing.features);
        }
        seen.senders.push(sensed);
    }
    // Who senses nothing of things that do not act need not say so.
    if seen.senders.is_empty() {
        seen.senders.resize_with(shape.senders.len(), Sensed::default);
    }
    seen.fits(shape)?;
    Ok((said.step, seen))
}

fn raw(text: &str) -> Result<Said, String> {
    let number = |word: &str| word.parse::<f32>().map_err(|_| format!("`{}` is no number", short(word)));
    let (step, text) = match text.strip_prefix('@') {
        None => (None, text),
        Some(rest) => {
            let (step, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            (Some(step.parse().map_err(|_| format!("`@{}` is no step", short(step)))?), rest)
        }
    };
    let mut parts = text.split(';');
    let own = parts.next().unwrap_or_default().split_whitespace().map(number).collect::<Result<_, _>>()?;
    let neighbour = |part: &str| {
        let mut words = part.split_whitespace();
        let agent = words.next().and_then(|word| word.parse().ok());
        let agent = agent.ok_or("a neighbour begins with the number of an agent")?;
        Ok::<Near, String>(Near { agent, edge: words.map(number).collect::<Result<_, _>>()? })
    };
    let neighbours = parts.filter(|part| !part.trim().is_empty()).map(neighbour).collect::<Result<_, _>>()?;
    Ok(Said { step, own, neighbours, senders: vec![], cause: vec![] })
}

fn short(word: &str) -> String {
    word.chars().take(20).filter(|c| !c.is_control()).collect()
}

/// The line that says what to do in step `t`.
pub(crate) fn action(t: u64, decision: Option<&Action>, json: bool) -> String {
    let missed = decision.map_or(0, |d| d.missed);
    let numbers = |d: &Action| d.vector.iter().map(f64::to_string).collect::<Vec<String>>();
    let action = match (decision, json) {
        (None, true) => "null".into(),
        (None, false) => "-1".into(),
        (Some(d), _) if d.vector.is_empty() => d.action.to_string(),
        (Some(d), true) => format!("[{}]", numbers(d).join(", ")),
        (Some(d), false) => format!("v {}", numbers(d).join(" ")),
    };
    match json {
        true => format!("{{\"step\": {t}, \"action\": {action}, \"missed\": {missed}}}"),
        false => format!("{t} {action} {missed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape() -> Shape {
        Shape { image: true, numbers: 3, edge: 2, senders: vec![], cause: 0 }
    }

    #[test]
    fn json_and_raw_lines_say_the_same() {
        let json = br#"{"own":[0, 0.5, 1], "neighbours":[{"agent":2,"edge":[1,-2]},{"agent":0,"edge":[0,3]}], "step":7}"#;
        let (step, seen) = observation(json, &shape()).unwrap();
        assert_eq!(step, Some(7));
        assert_eq!(seen.neighbours, [Member::agent(0), Member::agent(2)]);
        assert_eq!(seen.edges, [0.0, 3.0, 1.0, -2.0]);
        assert_eq!(observation(b"@7 0 .5 1e0 ; 2 1 -2;0 0 3\n", &shape()).unwrap(), (step, seen));
        assert_eq!(observation(b"0 0 0", &shape()).unwrap().1.neighbours, []);
    }

    #[test]
    fn what_is_no_observation_is_refused_with_the_reason() {
        let cases: [(&[u8], &str); 11] = [
            (b"0 0", "has 2 numbers, and the model takes 3"),
            (b"", "has 0 numbers"),
            (b"0 0 nan", "finite"),
            (b"0 0 x", "`x` is no number"),
            (b"@a 0 0 0", "is no step"),
            (b"0 0 0; 1 2", "the edge vector of agent 1 has 1 numbers"),
            (b"0 0 0; x 1 2", "number of an agent"),
            (b"0 0 0; 1 1 2; 1 1 2", "different agents"),
            (b"\xff\xfe", "no text"),
            (br#"{"own":[0,0,0],"near":[]}"#, "unknown field `near`"),
            (br#"{"own":[0,0,0],"senders":[[]]}"#, "kinds of other senders"),
        ];
        for (line, why) in cases {
            let error = observation(line, &shape()).unwrap_err();
            assert!(error.contains(why) && !error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn actions_are_lines_of_the_same_kind() {
        let decision = Action { action: 3, missed: 1, ..Action::default() };
        assert_eq!(action(9, Some(&decision), false), "9 3 1");
        assert_eq!(action(9, None, false), "9 -1 0");
        assert_eq!(action(9, Some(&decision), true), r#"{"step": 9, "action": 3, "missed": 1}"#);
        assert_eq!(action(9, None, true), r#"{"step": 9, "action": null, "missed": 0}"#);
        let vector = Action { vector: vec![0.5, -1e-7], missed: 2, ..Action::default() };
        assert_eq!(action(9, Some(&vector), false), "9 v 0.5 -0.0000001 2");
        let line = action(9, Some(&vector), true);
        let said: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(said, serde_json::json!({ "step": 9, "action": [0.5, -1e-7], "missed": 2 }));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = observation(&bytes, &shape());
        }
    }
}
