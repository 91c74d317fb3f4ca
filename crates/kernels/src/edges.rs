//! Messages that are made edge by edge, averaged by the one who hears them.
//!
//! m_e = relu(own\[i\] + edge\[e\] + sent\[j\]) for the edge e across which i hears j
//!
//! mean_i = (1 / n_i) sum_e m_e over the n_i edges of i in their listed order, zero if i hears nobody
//!
//! The three summands are rows of dense layers. So W \[f_i (+) e_ij (+) f_j\] takes one product per receiver, one per
//! sender and a thin one per edge instead of a wide one per edge. Senders that have nothing to tell but where they are have
//! no third row.

use crate::error::{Error, Result, length, positive, rows};
use crate::messages::Graph;
use crate::simd::{Kernel, Level, Simd};

pub mod halves;
#[cfg(test)]
mod tests;

/// Neighbouring columns in rows that hold more than them: `first..first + width` of every `stride`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// Elements of a whole row.
    pub stride: usize,
    /// Where the columns begin.
    pub first: usize,
    /// How many there are.
    pub width: usize,
}

impl Columns {
    fn check(&self, name: &'static str, found: usize, agents: usize) -> Result<()> {
        positive("the width of a message", self.width)?;
        if self.first.checked_add(self.width).is_none_or(|end| end > self.stride) {
            return Err(Error::Rows { name, row: self.stride, found });
        }
        length(name, found, agents.saturating_mul(self.stride))
    }
}

/// Nothing that is not a number is hidden.
#[inline(always)]
fn relu(z: f32) -> f32 {
    if z < 0.0 { 0.0 } else { z }
}

/// `d` where m > 0, and 0 elsewhere, by a mask: signs of messages are as good as random, and a branch on them is guessed
/// wrong every other time.
#[inline(always)]
fn where_positive(m: f32, d: f32) -> f32 {
    f32::from_bits(d.to_bits() & u32::from(m > 0.0).wrapping_neg())
}

/// The messages of one receiver, in place of its edges' rows, and their mean.
#[inline(always)]
fn hear<'a>(own: &[f32], messages: &mut [f32], mean: &mut [f32], sent: Option<impl Fn(usize) -> &'a [f32]>) {
    mean.fill(0.0);
    let count = messages.len() / own.len();
    for (e, message) in messages.chunks_exact_mut(own.len()).enumerate() {
        match &sent {
            Some(sent) => {
                for ((m, own), sent) in message.iter_mut().zip(own).zip(sent(e)) {
                    *m = relu((own + *m) + sent);
                }
            }
            None => message.iter_mut().zip(own).for_each(|(m, own)| *m = relu(own + *m)),
        }
        mean.iter_mut().zip(message).for_each(|(mean, m)| *mean += *m);
    }
    if count > 0 {
        let weight = 1.0 / count as f32;
        mean.iter_mut().for_each(|mean| *mean *= weight);
    }
}

/// Messages and their means for all agents. `messages` holds a row per edge of the graph, which becomes the message; `own`
/// a row per agent, `sent` one per sender, if senders have any; the means go to `columns` of `means`.
///
/// ```
/// use equimarl_kernels::edges::{Columns, forward};
/// use equimarl_kernels::messages::Graph;
/// let graph = Graph::new(vec![0, 2, 2], vec![1, 0])?; // 0 hears 1 and itself, 1 hears nobody
/// let (mut messages, mut means) = ([10.0, -10.0], [9.0; 2]);
/// let columns = Columns { stride: 1, first: 0, width: 1 };
/// forward(&graph, columns, &[1.0, 2.0], Some(&[5.0, 7.0]), &mut messages, &mut means)?;
/// assert_eq!((messages, means), ([18.0, 0.0], [9.0, 0.0]));
/// # Ok::<(), equimarl_kernels::Error>(())
/// ```
///
/// # Errors
/// A slice does not fit the graph, or it names a sender that is not there.
pub fn forward(
    graph: &Graph,
    columns: Columns,
    own: &[f32],
    sent: Option<&[f32]>,
    messages: &mut [f32],
    means: &mut [f32],
) -> Result<()> {
    let (agents, width) = (graph.agents(), columns.width);
    columns.check("means", means.len(), agents)?;
    length("own", own.len(), agents * width)?;
    length("messages", messages.len(), graph.edges() * width)?;
    if let Some(sent) = sent {
        graph.check_senders(rows("sent", sent.len(), width)?)?;
    }
    Level::best().run(Forward { graph, columns, own, sent, messages, means });
    Ok(())
}

struct Forward<'a> {
    graph: &'a Graph,
    columns: Columns,
    own: &'a [f32],
    sent: Option<&'a [f32]>,
    messages: &'a mut [f32],
    means: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Columns { stride, first, width } = self.columns;
        let rows = self.own.chunks_exact(width).zip(self.means.chunks_exact_mut(stride));
        for (i, (own, row)) in rows.enumerate() {
            let (at, heard) = self.graph.neighbours(i);
            let messages = &mut self.messages[at * width..][..heard.len() * width];
            let sent = self.sent.map(|sent| move |e: usize| &sent[heard[e] as usize * width..][..width]);
            hear(own, messages, &mut row[first..first + width], sent);
        }
    }
}

/// The same for one agent, which has one row of `sent` per edge: the same bits for the same order of edges.
///
/// # Errors
/// A slice has the wrong length.
pub fn one(own: &[f32], sent: Option<&[f32]>, messages: &mut [f32], mean: &mut [f32]) -> Result<()> {
    rows("messages", messages.len(), own.len())?;
    length("mean", mean.len(), own.len())?;
    if let Some(sent) = sent {
        length("sent", sent.len(), messages.len())?;
    }
    hear(own, messages, mean, sent.map(|sent| move |e: usize| &sent[e * own.len()..][..own.len()]));
    Ok(())
}

/// Where the gradients of the three summands go; overwritten.
#[derive(Debug)]
pub struct Gradients<'a> {
    /// One row per agent.
    pub own: &'a mut [f32],
    /// One row per edge.
    pub edges: &'a mut [f32],
    /// One row per sender, if senders have any.
    pub sent: Option<&'a mut [f32]>,
}

/// Gradients, given the messages of the forward pass and the gradient of their means.
///
/// # Errors
/// As [`forward`].
pub fn backward(
    graph: &Graph,
    columns: Columns,
    messages: &[f32],
    dmeans: &[f32],
    gradients: Gradients<'_>,
) -> Result<()> {
    let (agents, width) = (graph.agents(), columns.width);
    let Gradients { own, edges, mut sent } = gradients;
    columns.check("dmeans", dmeans.len(), agents)?;
    length("gradients.own", own.len(), agents * width)?;
    length("messages", messages.len(), graph.edges() * width)?;
    length("gradients.edges", edges.len(), messages.len())?;
    if let Some(sent) = &mut sent {
        graph.check_senders(rows("gradients.sent", sent.len(), width)?)?;
        sent.fill(0.0);
    }
    own.fill(0.0);
    Level::best().run(Backward { graph, columns, messages, dmeans, into: Gradients { own, edges, sent } });
    Ok(())
}

struct Backward<'a> {
    graph: &'a Graph,
    columns: Columns,
    messages: &'a [f32],
    dmeans: &'a [f32],
    into: Gradients<'a>,
}

impl Kernel for Backward<'_> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Columns { stride, first, width } = self.columns;
        let Gradients { own, edges, mut sent } = self.into;
        let rows = own.chunks_exact_mut(width).zip(self.dmeans.chunks_exact(stride));
        for (i, (down, row)) in rows.enumerate() {
            let (at, heard) = self.graph.neighbours(i);
            let (weight, dmean) = (1.0 / heard.len() as f32, &row[first..first + width]);
            for (e, &j) in (at..).zip(heard) {
                let (message, dz) = (&self.messages[e * width..][..width], &mut edges[e * width..][..width]);
                for ((dz, m), dmean) in dz.iter_mut().zip(message).zip(dmean) {
                    *dz = where_positive(*m, weight * dmean);
                }
                down.iter_mut().zip(&*dz).for_each(|(to, dz)| *to += dz);
                if let Some(sent) = &mut sent {
                    let to = &mut sent[j as usize * width..][..width];
                    to.iter_mut().zip(&*dz).for_each(|(to, dz)| *to += dz);
                }
            }
        }
    }
}
