//! Channels that turn: an equivariant map between them is zero except between equal types, so W is a block per type. With
//! `32*freq0 + 16*freq1 + 8*freq2` on both sides the blocks have 2,304 of 6,400 entries.

use super::Diagonal;
use crate::error::Result;
use crate::layers::Space;
use equimarl_group::Rep;
use equimarl_kernels::blocks::{Block, Blocks};
use equimarl_kernels::realise::Realisation;
use std::ops::Range;

/// Where the channels of one type stand in rows of a representation.
type Runs<'a> = Vec<(&'a str, Range<usize>)>;

fn runs(rep: &Rep) -> Runs<'_> {
    let mut at = 0;
    let each = |term: &'_ equimarl_group::Term| {
        at += term.dim();
        at - term.dim()..at
    };
    let ranges: Vec<Range<usize>> = rep.terms().iter().map(each).collect();
    rep.terms().iter().map(|term| term.atom.name()).zip(ranges).collect()
}

/// One block per type of the output, over some columns of the input; nothing if the map has no such form.
pub(super) fn blocks(
    space: &Space,
    columns: Range<usize>,
    weight: &Realisation,
    bias: &Realisation,
) -> Result<Option<Diagonal>> {
    let (inputs, outputs) = (columns.len(), space.output().dim());
    let from: Runs<'_> = runs(space.input())
        .into_iter()
        .filter(|(_, run)| columns.contains(&run.start) && run.end <= columns.end)
        .map(|(name, run)| (name, run.start - columns.start..run.end - columns.start))
        .collect();
    let (mut found, mut order, mut biases, mut inside) = (vec![], vec![], vec![], 0);
    for (name, to) in runs(space.output()) {
        let same: Vec<&Range<usize>> = from.iter().filter(|(n, _)| *n == name).map(|(_, run)| run).collect();
        let Some(run) = same.first().map(|run| run.len()) else { return Ok(None) };
        if same.iter().any(|other| other.len() != run) {
            return Ok(None);
        }
        for other in &same {
            for o in to.clone() {
                order.extend((*other).clone().map(|i| o * inputs + i));
                inside += (*other).clone().map(|i| weight.terms(o * inputs + i).count()).sum::<usize>();
            }
        }
        biases.extend(to.clone());
        let starts = same.iter().map(|run| run.start).collect();
        found.push(Block { outputs: to.len(), runs: starts, run, places: vec![[0, to.start]] });
    }
    let all: usize = (0..weight.entries()).map(|e| weight.terms(e).count()).sum();
    // Something outside of the blocks, or nothing gained.
    if inside != all || found.len() < 2 {
        return Ok(None);
    }
    let Ok(kernel) = Blocks::new(inputs, outputs, found) else { return Ok(None) };
    Ok(Some(Diagonal::new(kernel, weight.entries_of(&order)?, bias.entries_of(&biases)?)?))
}
