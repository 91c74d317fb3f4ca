//! Who sets the lights, and what stands between two of their states.

/// Who sets the lights in the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lights {
    /// The agents.
    Agents,
    /// The net's own programs.
    Program,
    /// SUMO's programs with detectors, in the phases of the net's own.
    Actuated,
    /// The same in two phases, one for each axis: left turns have none of their own, and yield.
    TwoPhases,
}

impl Lights {
    /// The name of the program, if it is one that a net does not have.
    pub(crate) fn program(self) -> Option<&'static str> {
        match self {
            Lights::Agents | Lights::Program => None,
            Lights::Actuated => Some("equimarl-actuated"),
            Lights::TwoPhases => Some("equimarl-two-phases"),
        }
    }
}

/// What stands between two states of a light: who loses the green sees yellow, and then red like all others who change. Nothing
/// if nobody loses it, or before the first state: from one approach alone, or from left turns alone, to both sides of their axis. Those who
/// had none get the green at once then, and left turns that had it alone (G) yield from then on (g).
pub(crate) fn between(now: &str, next: &str) -> Option<[String; 2]> {
    let green = |c: char| c == 'G' || c == 'g';
    if now.len() != next.len() {
        return None;
    }
    let letters = |lost: char| -> String {
        let letter = |(now, next): (char, char)| match (green(now), green(next)) {
            (true, false) => lost,
            (true, true) => now,
            (false, _) => 'r',
        };
        now.chars().zip(next.chars()).map(letter).collect()
    };
    let yellow = letters('y');
    yellow.contains('y').then(|| [yellow, letters('r')])
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn who_loses_the_green_sees_yellow_then_red_and_nobody_else() {
        let both = |now: &str, next: &str| between(now, next).map(|b| b.join(" "));
        assert_eq!(both("GGgrrr", "rrrGGg").as_deref(), Some("yyyrrr rrrrrr"));
        assert_eq!(both("GGgrrr", "GrGrrr").as_deref(), Some("Gygrrr Grgrrr"));
        assert_eq!(both("rrrGrr", "rrrGGg"), None);
        assert_eq!(both("GGGrrrrrrrrr", "GGgrrrGGgrrr"), None);
        assert_eq!(both("", "rrrGGg"), None);
        // Whatever the two are, nobody goes from green to red at once, and where anybody loses it, nobody gets green before that one
        // has red.
        for code in 0..6usize.pow(4) {
            let letter = |k: usize| ['G', 'g', 'r', 'y', 'G', 'r'][code / 6usize.pow(k as u32) % 6];
            let (now, next): (String, String) = ((0..2).map(letter).collect(), (2..4).map(letter).collect());
            let green = |c: char| c == 'G' || c == 'g';
            let Some([yellow, red]) = between(&now, &next) else {
                assert!(now.chars().zip(next.chars()).all(|(a, b)| !green(a) || green(b)), "{now} {next}");
                continue;
            };
            assert!(!red.contains('y'), "{now} {red} {next}");
            for (k, a) in now.chars().enumerate() {
                let [y, r, b] = [&yellow, &red, &next].map(|s| s.chars().nth(k).unwrap());
                assert!(!green(a) || green(y) || y == 'y', "{now} {yellow} {next}");
                assert!(!green(y) || green(a) && green(b), "{now} {yellow} {next}");
                assert!(green(y) == green(r) && (!green(r) || r == a), "{now} {red} {next}");
            }
        }
    }
}
