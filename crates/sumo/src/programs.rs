//! Programs that SUMO sets lights by when it is asked to: with detectors, in the phases of the net's own program or in two.

use crate::city::{City, Junction};
use crate::lights::{Lights, between};
use crate::options::Options;
use crate::xml::escaped;
use std::fmt::Write;

/// A phase of a program: seconds, letters, and whether it is green as long as vehicles come.
type Phase = (f64, String, bool);

/// A file for SUMO with a program for every light, from 5 to 50 seconds of green; `None` where SUMO needs none.
pub fn file(city: &City, options: &Options, lights: Lights) -> Option<String> {
    let name = lights.program()?;
    let mut text = String::from("<additional>\n");
    for junction in &city.junctions {
        let phases = match lights {
            Lights::TwoPhases => two(junction, options),
            _ => own(city, junction),
        };
        let light = escaped(&junction.light);
        let _ =
            writeln!(text, "<tlLogic id=\"{light}\" type=\"actuated\" programID=\"{name}\" offset=\"0\">");
        for (seconds, state, green) in phases {
            let range = if green { " minDur=\"5\" maxDur=\"50\"" } else { "" };
            let _ = writeln!(text, "<phase duration=\"{seconds}\" state=\"{state}\"{range}/>");
        }
        text += "</tlLogic>\n";
    }
    Some(text + "</additional>\n")
}

/// Those of the net.
fn own(city: &City, junction: &Junction) -> Vec<Phase> {
    let programs = city.net.programs.iter().filter(|program| program.light == junction.light);
    let green = |state: &str| state.contains(['G', 'g']) && !state.contains(['y', 'Y']);
    programs.flat_map(|p| &p.phases).map(|(seconds, state)| (*seconds, state.clone(), green(state))).collect()
}

/// Straight traffic of both axes, with left turns that yield, and what agents' lights have between them. Where an axis has no phase of its own,
/// one approach after the other.
fn two(junction: &Junction, options: &Options) -> Vec<Phase> {
    let axis = |k: usize| match &junction.phases[k] {
        Some(both) => vec![both],
        None => [4 + k, 6 + k].iter().filter_map(|&p| junction.phases[p].as_ref()).collect(),
    };
    let greens: Vec<&String> = (0..2).flat_map(axis).collect();
    let mut phases = vec![];
    for (now, next) in greens.iter().zip(greens.iter().cycle().skip(1)) {
        phases.push((25.0, now.to_string(), true));
        if let Some([yellow, red]) = between(now, next) {
            phases.push((options.yellow as f64, yellow, false));
            phases.extend((options.all_red > 0).then_some((options.all_red as f64, red, false)));
        }
    }
    phases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::SumoDefinition;
    use crate::net::Net;
    use equimarl_worlds::{Definition, Settings};

    #[test]
    fn two_phases_have_what_agents_lights_have_between_them() {
        let city = City::new(Net::parse(include_str!("../tests/nets/grid-2x2.net.xml")).unwrap()).unwrap();
        let options = Options::of(&Settings::usual(&SumoDefinition.options())).unwrap();
        let junction = &city.junctions[0];
        let phases = two(junction, &options);
        let seconds: Vec<f64> = phases.iter().map(|p| p.0).collect();
        assert_eq!(seconds, [25.0, 3.0, 2.0, 25.0, 3.0, 2.0]);
        assert_eq!([0, 3].map(|k| Some(phases[k].1.clone())), [0, 1].map(|k| junction.phases[k].clone()));
        assert!(phases[1].1.contains('y') && !phases[1].1.contains(['G', 'g']));
        assert!(phases[2].1.chars().all(|c| c == 'r'));
        assert_eq!(phases.iter().filter(|p| p.2).count(), 2);
        // An axis without a phase of its own has both its approaches, one after the other.
        let mut alone = junction.clone();
        alone.phases[0] = None;
        let greens: Vec<String> = two(&alone, &options).into_iter().filter(|p| p.2).map(|p| p.1).collect();
        assert_eq!(greens, [4, 6, 1].map(|k| alone.phases[k].clone().unwrap()));
        // Without red for all there is none.
        assert_eq!(two(junction, &Options { all_red: 0, ..options.clone() }).len(), 4);
        let text = file(&city, &options, Lights::TwoPhases).unwrap();
        assert_eq!(text.matches("programID=\"equimarl-two-phases\"").count(), 4);
        assert_eq!(text.matches("minDur=\"5\" maxDur=\"50\"").count(), 8);
        assert!(file(&city, &options, Lights::Program).is_none());
    }
}
