//! The layers of networks for feature vectors:
//!
//! ```text
//! features -> features1 -> features2 ... (one such encoder for each kind of sender that has features)
//!          -> round1.message, round1.<kind>.message ..., round1.update -> round2 ... -> policy, value
//! ```

use super::{Layer, MAX_LAYERS, MAX_NAME, MAX_TERMS, Role, bad, plane_rep};
use crate::config::{Interface, MAX_WIDTH, NetworkConfig};
use crate::error::Result;
use equimarl_group::{Group, Rep, Symmetry};

/// The longest text of a representation of features.
const MAX_FEATURE_TEXT: usize = 4096;
/// The largest group. Every layer has a table of its square.
const MAX_ORDER: usize = 256;
/// The most entries of a map that has to be solved for as a dense matrix, because the group does not permute coordinates:
/// solving takes the cube of them.
const MAX_SOLVED: usize = 1024;
const MAX_KINDS: usize = 16;
/// Words that begin names of layers, or that would read as if they did.
const RESERVED: [&str; 9] =
    ["conv", "encoder", "features", "round", "hidden", "policy", "value", "message", "update"];

impl NetworkConfig {
    /// What a network for feature vectors needs besides what all networks need; nothing is built.
    pub(super) fn check_features(&self) -> Result<()> {
        let (interface, widths) = (&self.interface, &self.widths);
        if !interface.sees_features() {
            if let Some(kind) = interface.senders.first() {
                return bad(format!(
                    "agents that see images hear only each other, and this world has the senders `{}`; describe \
                     what agents see as features",
                    one_line(&kind.name)
                ));
            }
            if !self.kind.is_central() && interface.image == [0, 0, 0] {
                return bad(format!(
                    "the agents of `{}` see neither images nor feature vectors; a feature that is always 1 is \
                     `trivial`",
                    interface.world
                ));
            }
            return Ok(());
        }
        if interface.image != [0, 0, 0] {
            return bad(
                "agents see an image or a feature vector, not yet both; leave out the image (zeros) or the \
                        features"
                    .into(),
            );
        }
        if self.kind.is_central() {
            return bad(format!(
                "a {} network looks at one image of the whole team, and the agents of `{}` see feature vectors; \
                 use an equivariant or a plain one",
                self.kind, interface.world
            ));
        }
        let (layers, rounds) = (widths.hidden.len(), widths.rounds.len());
        if widths.convolutions != [0, 0]
            || !(1..=MAX_LAYERS).contains(&layers)
            || !(1..=MAX_LAYERS).contains(&rounds)
        {
            return bad(format!(
                "a network for feature vectors has 1 to {MAX_LAYERS} hidden layers, 1 to {MAX_LAYERS} message rounds \
                 and no convolutions (widths of zero); this one has {layers}, {rounds} and {:?}",
                widths.convolutions
            ));
        }
        interface.check_senders()
    }

    /// The encoders and rounds, and the features after the last one.
    pub(super) fn feature_layers(&self, group: &Group) -> Result<(Vec<Layer>, Rep)> {
        if let symmetry @ (Symmetry::So2 | Symmetry::O2) = self.symmetry()? {
            return self.turning_layers(&symmetry);
        }
        if group.order() > MAX_ORDER {
            return bad(format!(
                "{group} has {} elements, and networks for feature vectors are built for at most {MAX_ORDER}",
                group.order()
            ));
        }
        let (mut layers, interface) = (vec![], &self.interface);
        let mut encoder = |prefix: &str, what: &str, text: &str| -> Result<Rep> {
            let mut features = feature_rep(group, what, text)?;
            for (i, &width) in self.widths.hidden.iter().enumerate() {
                let output = self.channels(group, width)?;
                let name = format!("{prefix}features{}", i + 1);
                layers.push(Layer::new(Role::Features, name, &features, &output));
                features = output;
            }
            Ok(features)
        };
        let seen = encoder("", "an agent's features", &interface.features)?;
        let mut senders = vec![];
        for kind in &interface.senders {
            senders.push(match kind.features.as_str() {
                "" => None,
                text => Some(encoder(
                    &format!("{}.", kind.name),
                    &format!("the features of {}", kind.name),
                    text,
                )?),
            });
        }
        let mut features = self.told(group, &seen)?;
        let edge = self.edge_rep(group)?;
        for (i, &width) in self.widths.rounds.iter().enumerate() {
            let (round, output) = (format!("round{}", i + 1), self.channels(group, width)?);
            let heard = features.clone().plus(&edge)?;
            let mut update = features.clone().plus(&output)?;
            let input = heard.clone().plus(&features)?;
            layers.push(Layer::new(Role::Message, format!("{round}.message"), &input, &output));
            for (kind, sent) in interface.senders.iter().zip(&senders) {
                let input = match sent {
                    Some(sent) => heard.clone().plus(sent)?,
                    None => heard.clone(),
                };
                let name = format!("{round}.{}.message", kind.name);
                layers.push(Layer::new(Role::Message, name, &input, &output));
                update = update.plus(&output)?;
            }
            layers.push(Layer::new(Role::Update, format!("{round}.update"), &update, &output));
            features = self.told(group, &output)?;
        }
        Ok((layers, features))
    }

    /// How edge vectors turn.
    pub(crate) fn edge_rep(&self, group: &Group) -> Result<Rep> {
        match self.interface.edge.as_str() {
            "" => plane_rep(group),
            text => feature_rep(group, "an edge vector", text),
        }
    }
}

impl Interface {
    fn check_senders(&self) -> Result<()> {
        if self.senders.len() > MAX_KINDS {
            return bad(format!(
                "a world has at most {MAX_KINDS} kinds of senders, and this one {}",
                self.senders.len()
            ));
        }
        for (i, kind) in self.senders.iter().enumerate() {
            let name = kind.name.as_str();
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
                return bad(format!(
                    "a kind of senders has a name of 1 to {MAX_NAME} lower-case letters, digits and dashes, not `{}`",
                    one_line(name)
                ));
            }
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            if RESERVED.contains(&stem) {
                return bad(format!("senders cannot be called `{name}`: layers of the network are"));
            }
            if self.senders[..i].iter().any(|other| other.name == name) {
                return bad(format!("two kinds of senders are called `{name}`"));
            }
        }
        Ok(())
    }
}

/// How the group acts on features. Products and images are left out of the language here: a few letters of them make
/// gigabytes.
pub(super) fn feature_rep(group: &Group, what: &str, text: &str) -> Result<Rep> {
    if text.len() > MAX_FEATURE_TEXT {
        return bad(format!(
            "the representation of {what} takes more than {MAX_FEATURE_TEXT} bytes to write"
        ));
    }
    if let Some(word) = ["dual", "tensor", "pixels"].iter().find(|w| text.contains(**w)) {
        return bad(format!(
            "the representation of {what} has `{word}`; write it as a sum of trivial, sign, regular, quotient(...), \
             rotation, natural, perm[...] and matrix[...]"
        ));
    }
    if text.matches('+').count() >= MAX_TERMS {
        return bad(format!("the representation of {what} has more than {MAX_TERMS} summands"));
    }
    let rep = Rep::parse(group, text)?;
    if rep.dim() > MAX_WIDTH {
        return bad(format!("{what} would be {} numbers, and we build at most {MAX_WIDTH}", rep.dim()));
    }
    if !rep.is_orthogonal() {
        return bad(format!(
            "{group} does not act on {what} by orthogonal matrices, so lengths would change"
        ));
    }
    let solved = |atom: &equimarl_group::Atom| !atom.is_signed_permutation();
    match rep.terms().iter().find(|t| solved(&t.atom) && t.atom.dim() * group.order() > MAX_SOLVED) {
        Some(term) => bad(format!(
            "`{}` has {} numbers in the representation of {what}; under {group} a summand that does not permute \
             coordinates has at most {}",
            one_line(term.atom.name()),
            term.atom.dim(),
            MAX_SOLVED / group.order()
        )),
        None => Ok(rep),
    }
}

/// Text from a file, for an error message: one short line.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_NAME).collect()
}
