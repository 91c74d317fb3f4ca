//! Was a recorded run local, and did its agents decide as the whole network would?
//!
//! The record says which messages were sent and received, who was whose neighbour in every step, and what every agent
//! decided. The world is played again with the recorded actions, and the batched network looks at every state.

use crate::error::{Error, Result};
use crate::member::Member;
use crate::message::StepId;
use crate::sight::Sight;
use crate::world::check;
use equimarl_nn::{Batch, Choice, Images, Policy};
use equimarl_worlds::{Actions, End, Envs, Joint, Purpose, Stream, Token, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Everything that the files of a record say.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What the run was.
    pub about: Value,
    steps: BTreeMap<StepId, Step>,
    messages: Vec<Sighting>,
    /// Lines that are half written: a process was killed.
    pub torn: u64,
}

#[derive(Clone, Debug)]
struct Step {
    edges: BTreeSet<(u64, u64)>,
    /// Choices, or the numbers of vectors one after the other.
    actions: Vec<f64>,
    /// Per agent: log-probabilities and missed messages, if it answered.
    said: Vec<Option<(Vec<f32>, u64)>>,
}

/// A message that somebody saw.
#[derive(Clone, Debug)]
struct Sighting {
    sent: bool,
    from: Member,
    to: Member,
    features: bool,
    place: StepId,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// Messages between agents that were sent.
    pub sent: u64,
    /// Messages between agents that arrived.
    pub received: u64,
    /// Those of either that did not go along an edge of their step.
    pub off_edge: u64,
    /// The first of them.
    pub first: Option<String>,
    /// Messages of steps that the world never took: the last one of a run that was stopped.
    pub unknown_steps: u64,
    /// Steps in all.
    pub steps: u64,
    /// Steps in which everybody heard everybody it should; only those can equal the whole network.
    pub compared: u64,
    /// The largest difference of an action's probability; of a number of a vector's distribution.
    pub difference: f64,
    /// Actions that the whole network would not have drawn from the same stream.
    pub other_actions: u64,
    /// Whether the recorded actions lead where the record says: neighbours of every step are as recorded.
    pub replayed: bool,
}

impl Findings {
    /// Whether the run was local, and decided as the whole network does.
    pub fn holds(&self, tolerance: f64) -> bool {
        self.off_edge == 0 && self.replayed && self.difference <= tolerance && self.other_actions == 0
    }
}

impl Recording {
    /// Reads all `.jsonl` files of a folder.
    ///
    /// # Errors
    /// If there are none, or they are no record.
    pub fn load(folder: &Path) -> Result<Recording> {
        let bad = |why: String| Error::BadRecord(format!("{}: {why}", folder.display()));
        let mut files = vec![];
        for entry in folder.read_dir().map_err(|why| Error::file(folder, why))? {
            let path = entry.map_err(|why| Error::file(folder, why))?.path();
            if path.extension().is_some_and(|e| e == "jsonl") {
                files.push(path);
            }
        }
        files.sort();
        let mut record = Recording::default();
        for path in &files {
            let file = File::open(path).map_err(|why| Error::file(path, why))?;
            for line in BufReader::new(file).lines() {
                let line = line.map_err(|why| Error::file(path, why))?;
                match serde_json::from_str::<Value>(&line).ok().and_then(|v| record.take(&v)) {
                    Some(()) => {}
                    None => record.torn += 1,
                }
            }
        }
        if record.about.is_null() || record.steps.is_empty() {
            return Err(bad("no record of a run; `fleet run --record` makes one".into()));
        }
        Ok(record)
    }

    fn take(&mut self, line: &Value) -> Option<()> {
        let number = |key: &str| line[key].as_u64();
        let place = || {
            let small = |key| u32::try_from(number(key)?).ok();
            Some(StepId { episode: small("episode")?, step: small("step")? })
        };
        match line["what"].as_str()? {
            "run" => self.about = line["about"].clone(),
            "step" => {
                let pair = |e: &Value| Some((e[0].as_u64()?, e[1].as_u64()?));
                let floats = |p: &Value| -> Option<Vec<f32>> {
                    // JSON has no infinity: an impossible action is null.
                    let one = |x: &Value| x.as_f64().map_or(f32::NEG_INFINITY, |x| x as f32);
                    Some(p.as_array()?.iter().map(one).collect())
                };
                let said = |a: &Value| match a.is_null() {
                    true => Some(None),
                    false => Some(Some((floats(&a["p"])?, a["missed"].as_u64()?))),
                };
                let step = Step {
                    edges: line["edges"].as_array()?.iter().map(pair).collect::<Option<_>>()?,
                    actions: line["actions"].as_array()?.iter().map(Value::as_f64).collect::<Option<_>>()?,
                    said: line["said"].as_array()?.iter().map(said).collect::<Option<_>>()?,
                };
                self.steps.insert(place()?, step);
            }
            what @ ("sent" | "received") => {
                // What cannot be read as a message has no sender; it was dropped and counted.
                let (Some(from), Some(to)) = (line["from"].as_str(), line["to"].as_str()) else {
                    return Some(());
                };
                self.messages.push(Sighting {
                    sent: what == "sent",
                    from: from.parse().ok()?,
                    to: to.parse().ok()?,
                    features: line["kind"] == "features",
                    place: place()?,
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// The record for those who look at it: what was done in every step, and how many messages each agent missed (nothing if it
    /// did not answer).
    pub fn story(&self) -> Value {
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|(place, step)| {
                let missed: Vec<Option<u64>> =
                    step.said.iter().map(|said| said.as_ref().map(|(_, missed)| *missed)).collect();
                // A choice is one number, and a vector several.
                let actions = match step.actions.len() / missed.len().max(1) {
                    0 | 1 => json!(step.actions),
                    numbers => json!(step.actions.chunks(numbers).collect::<Vec<_>>()),
                };
                json!({ "episode": place.episode, "step": place.step, "actions": actions, "missed": missed })
            })
            .collect();
        let between = |m: &&Sighting| m.from.index().is_some() && m.to.index().is_some();
        let count = |sent: bool| self.messages.iter().filter(between).filter(|m| m.sent == sent).count();
        json!({ "live": false, "sent": count(true), "received": count(false), "steps": steps })
    }

    /// Checks the record against the world, in the first of these environments, and the whole network. The world's own
    /// numbers come from the record's `seed` and `greedy`.
    ///
    /// # Errors
    /// If the network does not fit the world, or the world cannot go on.
    pub fn audit(&self, policy: &Policy, envs: &mut dyn Envs) -> Result<Findings> {
        let mut sight = Sight::new(check(envs, policy)?, envs.spec());
        let mut found = Findings { steps: self.steps.len() as u64, replayed: true, ..Findings::default() };
        self.look_at_messages(&mut found);
        self.play_again(policy, envs, &mut sight, &mut found)?;
        Ok(found)
    }

    fn look_at_messages(&self, found: &mut Findings) {
        for message in &self.messages {
            let (Some(from), Some(to)) = (message.from.index(), message.to.index()) else { continue };
            match message.sent {
                true => found.sent += 1,
                false => found.received += 1,
            }
            let along = match self.steps.get(&message.place) {
                Some(step) => step.edges.contains(&(to as u64, from as u64)),
                None => {
                    found.unknown_steps += 1;
                    continue;
                }
            };
            if !along || !message.features {
                found.off_edge += 1;
                let StepId { episode, step } = message.place;
                found.first.get_or_insert(format!(
                    "{} to {} in episode {episode}, step {step}",
                    message.from, message.to
                ));
            }
        }
    }

    fn play_again(
        &self,
        policy: &Policy,
        envs: &mut dyn Envs,
        sight: &mut Sight,
        found: &mut Findings,
    ) -> Result<()> {
        let seed = self.about["seed"].as_u64().unwrap_or(0);
        let greedy = self.about["greedy"].as_bool().unwrap_or(false);
        let choice = if greedy { Choice::Greedy } else { Choice::Sampled };
        let (agents, actions) = (envs.spec().agents, envs.spec().actions.clone());
        let mut stream = Stream::new(0, Purpose::Audit, 0);
        let mut expected = None;
        for (&place, step) in &self.steps {
            if place.step == 0 {
                envs.start(0, Stream::new(seed, Purpose::Evaluation, place.episode.into()))?;
                stream = Stream::new(seed, Purpose::EvaluationAction, place.episode.into());
            } else if expected != Some(place) {
                found.replayed = false;
                return Ok(());
            }
            let tokens = Token::team(seed, place.episode.into(), agents, policy.token_order());
            let (batch, edges) = look_at(envs.world(0), sight, &tokens, policy.told_len())?;
            let taken = joint(&actions, agents, &step.actions).filter(|_| step.said.len() == agents);
            let Some(taken) = taken.filter(|_| edges == step.edges) else {
                found.replayed = false;
                return Ok(());
            };
            let said = policy.forward(&batch)?;
            let rows: Vec<&[f32]> = said.log_probabilities.chunks(policy.actions()).collect();
            compare(step, &rows, (choice, policy), (&actions, &taken), &mut stream, found);
            let outcome = taken.step(envs, 0)?;
            expected = (outcome.end == End::Running).then_some(StepId { step: place.step + 1, ..place });
        }
        Ok(())
    }
}

/// A state as the whole network looks at it, and who hears whom. Every image is by itself, as agents see them: then the two
/// differ by nothing but the order of some sums.
fn look_at(
    world: &dyn World,
    sight: &mut Sight,
    tokens: &[Token],
    told: usize,
) -> Result<(Batch, BTreeSet<(u64, u64)>)> {
    let shape = sight.shape().clone();
    let mut batch = Batch::with_senders(shape.senders.len());
    let (mut pixels, mut edges) = (vec![], BTreeSet::new());
    sight.look(world)?;
    for agent in 0..world.agents() {
        let seen = sight.of(world, agent)?;
        match shape.image {
            true => {
                pixels.extend_from_slice(&seen.own);
                batch.ids.push(agent as u32);
                batch.elements.push(0);
            }
            false => batch.see(&seen.own)?,
        }
        batch.told.extend_from_slice(&seen.cause);
        if let Some(token) = tokens.get(agent) {
            let start = batch.told.len();
            batch.told.resize(start + told.saturating_sub(seen.cause.len()), 0.0);
            token.write(&mut batch.told[start..]);
        }
        for (member, vector) in seen.neighbours.iter().zip(seen.edges.chunks_exact(shape.edge)) {
            batch.hear(member.code(), vector);
            edges.insert((agent as u64, u64::from(member.code())));
        }
        for ((sensed, senders), &dim) in seen.senders.iter().zip(&mut batch.senders).zip(&shape.senders) {
            for (i, vector) in sensed.edges.chunks_exact(shape.edge).enumerate() {
                let features = &sensed.features[i * dim..][..dim];
                let id = if dim == 0 { 0 } else { senders.vectors.id(features)? };
                senders.hear(id, vector);
            }
        }
        batch.end_agent();
    }
    batch.end_state();
    if shape.image {
        batch.images = Images::Pixels(pixels);
    }
    Ok((batch, edges))
}

/// The recorded numbers as what a team did, if they can be.
fn joint(actions: &Actions, agents: usize, numbers: &[f64]) -> Option<Joint> {
    if actions.vectors().is_some() {
        let fits = numbers.len() == agents * actions.count() && actions.check_vectors(numbers).is_ok();
        return fits.then(|| Joint { choices: vec![], vectors: numbers.to_vec() });
    }
    let one = |a: &f64| (*a >= 0.0 && a.fract() == 0.0 && *a < actions.count() as f64).then_some(*a as usize);
    let choices = numbers.iter().map(one).collect::<Option<Vec<usize>>>()?;
    (choices.len() == agents).then_some(Joint { choices, vectors: vec![] })
}

/// Vectors were written as text, and come back to this.
const WRITTEN: f64 = 1e-9;

fn compare(
    step: &Step,
    rows: &[&[f32]],
    (choice, policy): (Choice, &Policy),
    (actions, taken): (&Actions, &Joint),
    stream: &mut Stream,
    found: &mut Findings,
) {
    // Drawn in any case: the stream goes on whether or not this step can be compared.
    let same: Vec<bool> = match actions.vectors() {
        None => {
            let drawn = rows.iter().map(|row| choice.action(row, || stream.unit()));
            drawn.zip(&taken.choices).map(|(drawn, taken)| drawn == *taken).collect()
        }
        Some((bound, _)) => {
            let mut drawn = vec![0.0; actions.count()];
            let one = |(row, taken): (&&[f32], &[f64])| {
                policy.act(choice, row, || stream.normal(), &mut drawn);
                drawn.iter().zip(taken).all(|(drawn, taken)| (drawn * bound - taken).abs() <= WRITTEN)
            };
            rows.iter().zip(taken.vectors.chunks(actions.count())).map(one).collect()
        }
    };
    let whole = step.said.iter().all(|said| said.as_ref().is_some_and(|(_, missed)| *missed == 0));
    if !whole {
        return;
    }
    found.compared += 1;
    for ((said, row), same) in step.said.iter().zip(rows).zip(same) {
        let Some((said, _)) = said else { continue };
        for (a, b) in said.iter().zip(*row) {
            // Of a vector, the numbers of its distribution are compared.
            let difference = match actions.vectors() {
                None => f64::from((a.exp() - b.exp()).abs()),
                Some(_) => f64::from((a - b).abs()),
            };
            found.difference =
                found.difference.max(if difference.is_nan() { f64::INFINITY } else { difference });
        }
        found.other_actions += u64::from(!same);
    }
}
