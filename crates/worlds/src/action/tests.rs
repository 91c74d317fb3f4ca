use super::*;
use crate::spec::{Actions, Better, Measure, Over, Senders, Spec};

fn spec() -> Spec {
    let group: Group = "C4".parse().unwrap();
    let names = ["a", "b", "c", "d"].map(String::from).to_vec();
    let actions = Actions::Choice { names, rep: "regular".into(), marks: vec![] };
    Spec { features: "2*trivial + rotation".into(), ..Spec::new("lake", 4, &group, actions) }
}

#[test]
fn a_sound_declaration_is_worked_out() {
    let ring = Spec { agent_moves: Some(vec![vec![1, 2, 3, 0]]), ..spec() };
    let acts = GroupAction::new(&ring).unwrap();
    let group = acts.group.clone();
    for g in group.elements() {
        for h in group.elements() {
            let gh = group.mul(g, h);
            for k in 0..4 {
                assert_eq!(acts.agent(gh, k), acts.agent(g, acts.agent(h, k)));
                assert_eq!(acts.action(gh, k), acts.action(g, acts.action(h, k)));
            }
        }
        let mut out = [0.0; 2];
        acts.edge(g, &[3.0, 4.0], &mut out);
        assert_eq!(out[0].abs() + out[1].abs(), 7.0);
    }
    assert_eq!((acts.features_dim(), acts.edge_dim()), (4, 2));
    let quarter = group.element("r").unwrap();
    let mut turned = [0.0; 4];
    acts.features(quarter, None, &[1.0, 2.0, 3.0, 4.0], &mut turned);
    assert_eq!(turned[..2], [1.0, 2.0]);
    assert_eq!(turned[2].abs() + turned[3].abs(), 7.0);
}

#[test]
fn contradictions_are_named_with_their_field() {
    let actions = |names: usize, rep: &str| Actions::Choice {
        names: (0..names).map(|k| k.to_string()).collect(),
        rep: rep.into(),
        marks: vec![],
    };
    let measure = |name: &str, first| Measure {
        name: name.into(),
        title: name.into(),
        unit: String::new(),
        better: Better::Lower,
        over: Over::Steps,
        first,
    };
    let kind =
        |kind: &str, features: &str| Senders { kind: kind.into(), count: 1, features: features.into() };
    for (bad, part) in [
        (Spec { agents: 0, ..spec() }, "`agents` is 0"),
        (Spec { group: "C".into(), ..spec() }, "`group` is `C`"),
        (Spec { features: String::new(), ..spec() }, "agents see nothing"),
        (Spec { image: Some([1, 3, 5]), ..spec() }, "`image` is 3 x 5; what an agent sees is square"),
        (
            Spec { image: Some([1, 5, 5]), group: "C3".into(), actions: actions(3, "regular"), ..spec() },
            "`group` is C3, which does not turn images",
        ),
        (Spec { image: Some([1, 5, 5]), ..spec() }, "and there is an `image`: agents see one or the other"),
        (
            Spec { group: "C3".into(), actions: actions(3, "regular"), ..spec() },
            "`edge` is empty, and C3 does not act on the plane",
        ),
        (Spec { edge: "spin".into(), ..spec() }, "`edge` is `spin`"),
        (Spec { features: "2*trivial + colour".into(), ..spec() }, "`features` is `2*trivial + colour`"),
        (
            Spec { actions: actions(3, "regular"), ..spec() },
            "`actions` has 3 names and a representation of dimension 4",
        ),
        (Spec { actions: actions(2, "rotation"), ..spec() }, "does not permute choices"),
        // Three turns in a row are nothing, and four quarter turns are.
        (Spec { actions: actions(3, "perm[1 2 0]"), ..spec() }, "`actions` is `perm[1 2 0]`"),
        (Spec { agent_moves: Some(vec![vec![1, 2, 0, 3]]), ..spec() }, "`agent_moves` is no action of C4"),
        (Spec { agent_moves: Some(vec![vec![0, 0, 1, 2]]), ..spec() }, "does not send 4 agents"),
        (Spec { agent_moves: Some(vec![]), ..spec() }, "has 0 lists, and C4 has 1 generators"),
        (Spec { measures: vec![measure("a", true), measure("b", true)], ..spec() }, "shown first"),
        (Spec { measures: vec![measure("return", false)], ..spec() }, "needs another name for `return`"),
        (Spec { senders: vec![kind("pier", ""), kind("pier", "")], ..spec() }, "has the kind `pier` twice"),
        (Spec { senders: vec![kind("pier", "2*")], ..spec() }, "`senders` is `2*`"),
        (Spec { senders: vec![kind("Stone pier", "")], ..spec() }, "`senders` has the kind \"Stone pier\""),
        (Spec { senders: vec![kind("", "")], ..spec() }, "1 to 64 lower-case letters, digits and dashes"),
        (
            Spec { references: vec!["nearest".into()], ..spec() },
            "`references` has `nearest`, which is none of `controllers`",
        ),
        (Spec { references: vec!["random".into()], ..spec() }, "`references` has `random`"),
        (Spec { legal: vec![0; 3], ..spec() }, "`legal` names 3 features, each below 4, for 4 actions"),
        (Spec { legal: vec![0, 1, 2, 9], ..spec() }, "`legal` names 4 features, each below 4"),
        (
            Spec { legal: vec![0, 1, 2, 3], ..spec() },
            "`legal` has feature 0 for action 0, and the group does not move them together",
        ),
    ] {
        let error = GroupAction::new(&bad).unwrap_err().to_string();
        assert!(error.contains("the declaration of `lake`: ") && error.contains(part), "{part}: {error}");
    }
}
