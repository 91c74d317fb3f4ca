//! Generalised advantage estimation:
//!
//! ```text
//! delta_t = r_t + gamma V'_t - V_t     V'_t: value of what follows; 0 after a terminal step,
//!                                      the value of the last state after a truncated one
//! A_t     = delta_t + gamma lambda A_{t+1}     (no A_{t+1} across the end of an episode)
//! R_t     = A_t + V_t
//! ```

use equimarl_worlds::End;

/// What one environment did in one step of a rollout.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The team's reward.
    pub reward: f64,
    /// The value estimate before the step.
    pub value: f64,
    /// How the episode stood after the step.
    pub end: End,
    /// The value estimate of the last state, if the episode was cut off.
    pub bootstrap_value: f64,
    /// Whether it is of an episode that a simulator lost: nothing is learned from it.
    pub lost: bool,
}

/// Marks the steps of episodes that were lost, as far as they are in this rollout. Rewards of a simulator that is about to die mean
/// as little as those of one that is dead.
pub(crate) fn mark_lost(steps: &mut [Step]) {
    let mut lost = false;
    for step in steps.iter_mut().rev() {
        lost = match step.end {
            End::Running => lost,
            end => end == End::Abandoned,
        };
        step.lost = lost;
    }
}

/// Advantages and returns of one environment's steps; `next` is the value estimate after the last of them.
pub fn gae(steps: &[Step], next: f64, discount: f64, lambda: f64) -> Vec<(f64, f64)> {
    let mut found = vec![(0.0, 0.0); steps.len()];
    let (mut following, mut advantage) = (next, 0.0);
    for (step, found) in steps.iter().zip(&mut found).rev() {
        let (value_after, carried) = match step.end {
            End::Running => (following, advantage),
            End::Terminated => (0.0, 0.0),
            End::Truncated | End::Abandoned => (step.bootstrap_value, 0.0),
        };
        let delta = step.reward + discount * value_after - step.value;
        advantage = delta + discount * lambda * carried;
        *found = (advantage, advantage + step.value);
        following = step.value;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(reward: f64, value: f64, end: End) -> Step {
        Step { reward, value, end, bootstrap_value: 10.0, lost: false }
    }

    #[test]
    fn lost_episodes_are_marked_from_their_start_and_no_others() {
        use End::{Abandoned, Running, Terminated, Truncated};
        let ends = [Running, Terminated, Running, Abandoned, Truncated, Abandoned, Running];
        let mut steps = ends.map(|end| step(1.0, 0.0, end));
        mark_lost(&mut steps);
        assert_eq!(steps.map(|s| s.lost), [false, false, true, true, false, true, false]);
    }

    #[test]
    fn with_lambda_one_returns_are_discounted_sums() {
        let steps = [step(1.0, 0.3, End::Running), step(2.0, 0.1, End::Running)];
        let found = gae(&steps, 5.0, 0.9, 1.0);
        assert!((found[0].1 - (1.0 + 0.9 * (2.0 + 0.9 * 5.0))).abs() < 1e-12);
        assert!((found[1].0 - (2.0 + 0.9 * 5.0 - 0.1)).abs() < 1e-12);
    }

    #[test]
    fn terminal_steps_do_not_bootstrap_and_truncated_ones_do() {
        let terminal = [step(1.0, 0.5, End::Terminated), step(0.0, 0.2, End::Running)];
        assert_eq!(gae(&terminal, 7.0, 0.9, 1.0)[0].1, 1.0);
        let truncated = [step(1.0, 0.5, End::Truncated), step(0.0, 0.2, End::Running)];
        assert_eq!(gae(&truncated, 7.0, 0.9, 1.0)[0].1, 1.0 + 0.9 * 10.0);
    }

    #[test]
    fn with_lambda_zero_only_the_next_value_counts() {
        let steps = [step(1.0, 0.5, End::Running), step(9.0, 0.2, End::Running)];
        assert!((gae(&steps, 3.0, 0.5, 0.0)[0].0 - (1.0 + 0.5 * 0.2 - 0.5)).abs() < 1e-12);
    }
}
