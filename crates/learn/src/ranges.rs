//! What agents say to each other under final weights: the ranges that a model file carries.

use crate::error::Result;
use crate::evaluate::{Inference, decide};
use equimarl_nn::{Choice, MessageRanges, Policy, RangeMeter};
use equimarl_worlds::{End, Envs, Purpose, Stream, Token};

/// Episodes with sampled actions that are looked at. A range is a largest number, so more see a little more.
const EPISODES: u64 = 20;
/// In simulators, whose episodes are long and take seconds: an episode of a city has thousands of messages.
const SIMULATED: u64 = 2;

/// The ranges of all messages in the first episodes of a seed; nothing for a network that decides for the whole team.
///
/// # Errors
/// If the policy was made for another world, or a simulator fails.
pub fn message_ranges(
    policy: &Policy,
    inference: &mut Inference,
    envs: &mut dyn Envs,
    seed: u64,
) -> Result<Option<MessageRanges>> {
    if policy.rounds() == 0 {
        return Ok(None);
    }
    let mut meter = RangeMeter::new(policy);
    let spec = envs.spec().clone();
    for episode in 0..if envs.exact().is_some() { EPISODES } else { SIMULATED } {
        envs.start(0, Stream::new(seed, Purpose::Evaluation, episode))?;
        let mut chance = Stream::new(seed, Purpose::EvaluationAction, episode);
        let tokens = Token::team(seed, episode, envs.spec().agents, policy.token_order());
        loop {
            let (said, layers) =
                inference.explain_with(policy, [(envs.world(0), &tokens[..])].into_iter())?;
            meter.look(&layers);
            let chosen = decide(policy, Choice::Sampled, &said.log_probabilities, &spec, &mut chance);
            if chosen.step(envs, 0)?.end != End::Running {
                break;
            }
        }
    }
    Ok(meter.finish())
}
