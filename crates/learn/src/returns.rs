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
        Step { reward, value, end, bootstrap_value: 10.0 }
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
