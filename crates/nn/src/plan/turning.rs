//! The layers of networks for feature vectors under SO(2) and O(2): those of `features.rs`, each with a gate. A gate has as
//! many hidden numbers as make its layer as large as that of the plain network of the same widths.

use super::{Layer, Role, bad};
use crate::config::NetworkConfig;
use crate::error::Result;
use crate::layers::{Channels, GateShape};
use equimarl_group::{Rep, Symmetry, Types};

/// The fewest hidden numbers of a gate.
const FEWEST: usize = 8;
/// The longest text of channels.
const MAX_TEXT: usize = 256;

/// What goes into a layer.
#[derive(Clone)]
struct Row {
    channels: Channels,
    rep: Rep,
    /// How many numbers a plain network has in its place.
    plain: usize,
}

impl Row {
    fn of(symmetry: &Symmetry, text: &str) -> Result<Row> {
        let types = Types::parse(symmetry, if text.is_empty() { "freq1" } else { text })?;
        Ok(Row { channels: Channels::of(&types), plain: types.dim(), rep: types.rep(&symmetry.carrier()?)? })
    }

    fn plus(&self, other: &Row) -> Result<Row> {
        Ok(Row {
            channels: self.channels.plus(other.channels),
            rep: self.rep.clone().plus(&other.rep)?,
            plain: self.plain + other.plain,
        })
    }
}

impl NetworkConfig {
    /// The encoders and rounds, and the features after the last one.
    pub(super) fn turning_layers(&self, symmetry: &Symmetry) -> Result<(Vec<Layer>, Rep)> {
        let (mut layers, interface) = (vec![], &self.interface);
        let texts =
            interface.senders.iter().map(|kind| &kind.features).chain([&interface.features, &interface.edge]);
        if texts.chain([&self.channels]).any(|text| text.len() > MAX_TEXT) {
            return bad(format!("a representation of {symmetry} takes at most {MAX_TEXT} bytes to write"));
        }
        let mut encoder = |prefix: &str, text: &str| -> Result<Row> {
            let mut row = Row::of(symmetry, text)?;
            for (i, &width) in self.widths.hidden.iter().enumerate() {
                let name = format!("{prefix}features{}", i + 1);
                row = self.gated(symmetry, Role::Features, &name, &row, width, &mut layers)?;
            }
            Ok(row)
        };
        let mut features = encoder("", &interface.features)?;
        let mut senders = vec![];
        for kind in &interface.senders {
            senders.push(match kind.features.as_str() {
                "" => None,
                text => Some(encoder(&format!("{}.", kind.name), text)?),
            });
        }
        let edge = Row::of(symmetry, &interface.edge)?;
        for (i, &width) in self.widths.rounds.iter().enumerate() {
            let round = format!("round{}", i + 1);
            let heard = features.plus(&edge)?;
            let (mut update, own) = (features.clone(), features.clone());
            let names = interface.senders.iter().map(|kind| format!("{round}.{}.message", kind.name));
            let kinds = [Some(&own)].into_iter().chain(senders.iter().map(Option::as_ref));
            for (name, sent) in [format!("{round}.message")].into_iter().chain(names).zip(kinds) {
                let input = match sent {
                    Some(sent) => heard.plus(sent)?,
                    None => heard.clone(),
                };
                let output = self.gated(symmetry, Role::Message, &name, &input, width, &mut layers)?;
                update = update.plus(&output)?;
            }
            let name = format!("{round}.update");
            features = self.gated(symmetry, Role::Update, &name, &update, width, &mut layers)?;
        }
        Ok((layers, features.rep))
    }

    /// Adds a layer and its gate, and says what comes out.
    fn gated(
        &self,
        symmetry: &Symmetry,
        role: Role,
        name: &str,
        input: &Row,
        width: usize,
        layers: &mut Vec<Layer>,
    ) -> Result<Row> {
        let to = match self.channels.as_str() {
            "" => Channels::for_width(width),
            text => Channels::of(&Types::parse(symmetry, text)?),
        };
        if to.dim() > 2 * width.max(8) {
            return bad(format!("`channels` are {} numbers, more than twice the width of {width}", to.dim()));
        }
        let shape = |hidden: usize| GateShape::new(symmetry, input.channels, to, hidden);
        let first = shape(1)?;
        let linear = Layer::new(role, name, &input.rep, &first.candidates()?);
        let (known, numbers) =
            (linear.ranks().iter().sum::<usize>(), first.invariants() + first.scales() + 1);
        let left = (width * (input.plain + 1)).saturating_sub(known + first.scales());
        let shape = shape(((left + numbers / 2) / numbers).max(FEWEST))?;
        let [i, h, o] = shape.numbers()?;
        let output = Row { channels: to, rep: shape.output()?, plain: width };
        layers.push(Layer { gate: Some(shape), ..linear });
        layers.push(Layer::new(Role::Hold, format!("{name}.hidden"), &i, &h));
        layers.push(Layer::new(Role::Scales, format!("{name}.scales"), &h, &o));
        Ok(output)
    }
}
