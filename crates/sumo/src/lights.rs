//! Who sets the lights, and what stands between two of their states.

/// Who sets the lights in the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lights {
    /// The agents.
    Agents,
    /// The net's own programs.
    Program,
    /// SUMO's programs with detectors.
    Actuated,
}

/// What stands between two states of a light: who loses the green sees yellow. Nothing if nobody does, or before the first.
pub(crate) fn yellow(now: &str, next: &str) -> Option<String> {
    let green = |c: char| c == 'G' || c == 'g';
    if now.len() != next.len() {
        return None;
    }
    let between = |(now, next): (char, char)| match (green(now), green(next)) {
        (true, false) => 'y',
        (true, true) => now,
        (false, _) => 'r',
    };
    let state: String = now.chars().zip(next.chars()).map(between).collect();
    state.contains('y').then_some(state)
}

#[cfg(test)]
mod tests {
    use super::yellow;

    #[test]
    fn who_loses_the_green_sees_yellow_and_nobody_else() {
        assert_eq!(yellow("GGgrrr", "rrrGGg").as_deref(), Some("yyyrrr"));
        assert_eq!(yellow("GGgrrr", "GrGrrr").as_deref(), Some("Gygrrr"));
        assert_eq!(yellow("rrrGrr", "rrrGGg"), None);
        assert_eq!(yellow("", "rrrGGg"), None);
        // Whatever the two are, nobody goes from green to red at once, and nobody gets green before the others have red.
        for code in 0..6usize.pow(4) {
            let letter = |k: usize| ['G', 'g', 'r', 'y', 'G', 'r'][code / 6usize.pow(k as u32) % 6];
            let (now, next): (String, String) = ((0..2).map(letter).collect(), (2..4).map(letter).collect());
            let Some(between) = yellow(&now, &next) else { continue };
            for ((a, b), c) in now.chars().zip(between.chars()).zip(next.chars()) {
                let green = |c: char| c == 'G' || c == 'g';
                assert!(!green(a) || green(b) || b == 'y', "{now} {between} {next}");
                assert!(!green(b) || green(a) && green(c), "{now} {between} {next}");
            }
        }
    }
}
