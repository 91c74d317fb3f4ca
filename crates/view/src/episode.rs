//! An episode, one request at a time. The page holds the state and sends it along; the server keeps nothing, unless the world
//! does not save its state (`live.rs`).
//!
//! Without a state, an episode begins. With one, the policy looks at it; with `edit`, something in it is moved or pressed
//! first; with `step`, the team acts. The random streams travel as their seed and positions, so an episode is the one that
//! `equimarl play` plays with the same seed.

use crate::asked::{Fields, must_be, needed, whole};
use crate::error::{Answer, Refusal};
use crate::live::{Episode, Live};
use crate::models::Model;
use crate::{look, settings, symmetry};
use equimarl_learn::{Choice, check_fit, decide};
use equimarl_worlds::scene::Edit;
use equimarl_worlds::{End, Envs, ExactEnvs, GroupAction, Joint, Purpose, Registry, Stream, StreamState};
use serde_json::{Map, Value, json};
use std::time::Instant;

/// JavaScript counts exactly up to here.
const MAX_SEED: u64 = 1 << 53;
/// A longer state could not be sent back: requests end at [`crate::server::MAX_BODY`].
const MAX_STATE: usize = 900_000;

/// What the page asks for.
#[derive(Debug)]
pub(crate) struct Ask {
    /// Who decides.
    pub model: String,
    /// Options of the world that are not as the model has them.
    settings: Map<String, Value>,
    /// Which episode.
    seed: u64,
    episode: u64,
    /// The state; a new episode begins without one.
    state: Option<Value>,
    /// What somebody did to the state by hand.
    edit: Option<Edit>,
    /// Where the streams of chance and of choice are.
    streams: Option<[String; 2]>,
    /// Whether the team takes a step.
    step: bool,
    /// Whether it takes its greedy actions.
    greedy: bool,
    /// The turn of the twin, by name.
    element: Option<String>,
    /// Whether what breaks the world's symmetry is turned along; by default for teams that are told of it.
    along: Option<bool>,
    /// Agents of which it is wanted what they see, the first one with its features.
    pictures: Vec<usize>,
}

impl Ask {
    /// Reads a request.
    pub fn of(mut fields: Fields) -> Answer<Ask> {
        let position = |value: &Value| value.as_str().map(String::from);
        let streams = fields.list("streams", "two positions in random streams", position)?;
        let agent = |value: &Value| Some(usize::try_from(whole(value, u64::MAX)?).unwrap_or(usize::MAX));
        let ask = Ask {
            model: needed("model", fields.text("model")?)?,
            settings: fields.options("settings")?,
            seed: fields.whole("seed", MAX_SEED)?.unwrap_or(0),
            episode: fields.whole("episode", MAX_SEED)?.unwrap_or(0),
            state: fields.any("state"),
            edit: fields.any("edit").map(edit).transpose()?,
            streams: streams.map(two).transpose()?,
            step: fields.flag("step")?,
            greedy: fields.flag("greedy")?,
            element: fields.text("element")?,
            along: fields.choice("along")?,
            pictures: fields.list("pictures", "agents, by their numbers", agent)?.unwrap_or_default(),
        };
        fields.done()?;
        Ok(ask)
    }
}

fn edit(value: Value) -> Answer<Edit> {
    let wanted = "{\"id\": a thing}, with \"to\": [x, y] if it is moved";
    serde_json::from_value(value.clone()).map_err(|_| Refusal::bad(must_be("edit", wanted, &value)))
}

fn two(positions: Vec<String>) -> Answer<[String; 2]> {
    positions.try_into().map_err(|_| Refusal::bad("`streams` are two positions: of chance and of choice"))
}

/// Answers for a model in its world.
pub(crate) fn answer(registry: &Registry, model: &Model, ask: &Ask, live: &Live) -> Answer<Value> {
    let world = settings::asked(registry, &model.world, &ask.settings)?;
    let registry = match &model.files {
        Some(folder) if registry.same_files(&world, &model.world) => &registry.beside(folder),
        _ => registry,
    };
    let title = registry.title(&world);
    let [mut chance, choice] = streams(ask)?;
    if let Some(ticket) = ask.state.as_ref().filter(|state| Live::is_ticket(state)) {
        if ask.edit.is_some() {
            return Err(Refusal::impossible(
                "this world does not save its state, so nothing in it can be moved",
            ));
        }
        return go_on(live, live.take(ticket, &title)?, (model, &title), ask, [chance, choice]);
    }
    let mut envs = settings::make(registry, &world)?;
    check_fit(envs.spec(), model.policy.config())?;
    begin(&mut *envs, ask, &mut chance)?;
    if envs.exact().is_none() {
        return go_on(live, live.begin(title.clone(), envs), (model, &title), ask, [chance, choice]);
    }
    let (mut answer, _) = play(&mut *envs, (model, &title), ask, [chance, choice])?;
    answer["state"] = state(&*envs)?;
    Ok(answer)
}

/// The same in an episode that the server keeps.
fn go_on(
    live: &Live,
    mut episode: Episode,
    team: (&Model, &str),
    ask: &Ask,
    streams: [Stream; 2],
) -> Answer<Value> {
    let (mut answer, end) = play(&mut *episode.envs, team, ask, streams)?;
    if ask.step {
        episode.stepped();
    }
    answer["state"] = episode.ticket().json();
    // What a simulator lost cannot be looked at again.
    if end != End::Abandoned {
        live.put(episode);
    }
    Ok(answer)
}

/// A step, if one is wanted, and what the policy says then.
fn play(
    envs: &mut dyn Envs,
    (model, title): (&Model, &str),
    ask: &Ask,
    [mut chance, mut choice]: [Stream; 2],
) -> Answer<(Value, End)> {
    let policy = &model.policy;
    let (saves, caused) = (envs.exact().is_some(), envs.exact().is_some_and(ExactEnvs::has_cause));
    let mut answer = json!({});
    let tokens = look::tokens(policy, envs);
    let mut actions = Joint::default();
    let mut end = End::Running;
    if ask.step {
        let (said, _) = look::forward(policy, envs, &tokens)?;
        let way = if ask.greedy { Choice::Greedy } else { Choice::Sampled };
        actions = decide(policy, way, &said.log_probabilities, envs.spec(), &mut choice);
        if saves {
            put_stream(envs, &chance)?;
        }
        let outcome = actions.step(envs, 0)?;
        chance = stream_of(envs)?;
        end = outcome.end;
        let words = match end {
            End::Running => "running",
            End::Terminated => "terminated",
            End::Truncated => "truncated",
            End::Abandoned => "abandoned",
        };
        let done = if actions.is_vectors() { json!(actions.vectors) } else { json!(actions.choices) };
        answer = json!({ "actions": done, "reward": outcome.reward, "end": words });
    }
    let acts = GroupAction::new(envs.spec())?;
    let start = Instant::now();
    let (said, layers) = look::forward(policy, envs, &tokens)?;
    answer["microseconds"] = json!(start.elapsed().as_micros() as u64);
    answer["streams"] = json!([position(&chance)?, position(&choice)?]);
    answer["world"] = look::world(envs.spec(), &acts.group);
    answer["title"] = json!(title);
    answer["assumed"] = json!(model.assumed);
    if !model.asymmetry.is_empty() {
        answer["asymmetry"] = json!(model.asymmetry);
    }
    answer["measure"] = look::measure(envs, end);
    answer["alarms"] = look::alarms(envs, end);
    answer["here"] = look::view(policy, envs, &actions, (&said, &layers), &ask.pictures)?;
    answer["elements"] = symmetry::elements(policy, &acts)?;
    // A network that is told what breaks the symmetry turns with it, and not without.
    let told = !policy.config().interface.cause.is_empty();
    let along = caused && ask.along.unwrap_or(told);
    if caused {
        answer["cause"] = json!({ "told": told, "along": along });
    }
    // Only a state that can be transformed has a twin.
    if let Some(name) = ask.element.as_ref().filter(|_| saves) {
        let team = (policy, &acts);
        answer["twin"] = symmetry::twin(team, envs, &actions, &said, (name, along), &ask.pictures)?;
    }
    Ok((answer, end))
}

/// Puts the world into the state that is asked about, changed as somebody did by hand.
fn begin(envs: &mut dyn Envs, ask: &Ask, chance: &mut Stream) -> Answer<()> {
    let Some(state) = &ask.state else {
        if ask.edit.is_some() {
            return Err(Refusal::bad("an edit needs the state that it changes"));
        }
        envs.start(0, chance.clone())?;
        *chance = stream_of(envs)?;
        return Ok(());
    };
    let exact = envs.exact_mut().ok_or_else(|| Refusal::impossible("this world does not save its state"))?;
    exact.set_state(0, state)?;
    if let Some(edit) = &ask.edit {
        exact.edit(0, edit)?;
    }
    Ok(())
}

/// The state for the page to keep.
fn state(envs: &dyn Envs) -> Answer<Value> {
    let exact = envs.exact().ok_or_else(|| Refusal::impossible("this world does not save its state"))?;
    let state = exact.state(0);
    if state.to_string().len() > MAX_STATE {
        return Err(Refusal::impossible("the state of this world is too large for the page"));
    }
    Ok(state)
}

/// The streams of this episode, where the page says that they are.
fn streams(ask: &Ask) -> Answer<[Stream; 2]> {
    let at = |purpose: Purpose, position: Option<&String>| -> Answer<Stream> {
        let Some(position) = position else { return Ok(Stream::new(ask.seed, purpose, ask.episode)) };
        let position: u64 =
            position.parse().map_err(|_| Refusal::bad("a position in a random stream is a whole number"))?;
        let state = json!({ "seed": ask.seed, "purpose": purpose, "index": ask.episode, "position": position.to_string() });
        let state: StreamState = serde_json::from_value(state).map_err(Refusal::impossible)?;
        Ok(Stream::load(&state)?)
    };
    let [chance, choice] = match &ask.streams {
        Some([chance, choice]) => [Some(chance), Some(choice)],
        None => [None, None],
    };
    Ok([at(Purpose::Evaluation, chance)?, at(Purpose::EvaluationAction, choice)?])
}

/// The stream that the environment draws from.
fn stream_of(envs: &dyn Envs) -> Answer<Stream> {
    let saved = envs.save();
    let state = saved.get("streams").and_then(|all| all.get(0)).cloned().unwrap_or_default();
    let state: StreamState = serde_json::from_value(state).map_err(Refusal::impossible)?;
    Ok(Stream::load(&state)?)
}

/// Lets the environment draw from this stream, its state untouched: starting it would begin an episode.
fn put_stream(envs: &mut dyn Envs, stream: &Stream) -> Answer<()> {
    let mut saved = envs.save();
    saved["streams"] = json!([stream.save()]);
    envs.load(&saved)?;
    Ok(())
}

fn position(stream: &Stream) -> Answer<Value> {
    let state = serde_json::to_value(stream.save()).map_err(Refusal::impossible)?;
    Ok(state["position"].clone())
}
