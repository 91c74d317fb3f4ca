//! The two halves of making messages, for layers that do something of their own with every edge in between:
//!
//! z_e = own\[i\] + edge\[e\] + sent\[j\] for the edge e across which i hears j
//!
//! mean_i = (1 / n_i) sum_e m_e over the n_i edges of i in their listed order, zero if i hears nobody

use super::{Columns, Gradients};
use crate::error::{Result, length, positive, rows};
use crate::messages::Graph;

/// Writes z over the rows of the edges.
///
/// # Errors
/// A slice does not fit the graph, or it names a sender that is not there.
pub fn sum(graph: &Graph, width: usize, own: &[f32], sent: Option<&[f32]>, edges: &mut [f32]) -> Result<()> {
    positive("the width of a message", width)?;
    length("own", own.len(), graph.agents() * width)?;
    length("edges", edges.len(), graph.edges() * width)?;
    if let Some(sent) = sent {
        graph.check_senders(rows("sent", sent.len(), width)?)?;
    }
    for (i, own) in own.chunks_exact(width).enumerate() {
        let (at, heard) = graph.neighbours(i);
        for (e, &j) in (at..).zip(heard) {
            let sent = sent.map(|sent| &sent[j as usize * width..][..width]);
            add_row(own, sent, &mut edges[e * width..][..width]);
        }
    }
    Ok(())
}

/// The same for one agent, which has one row of `sent` per edge: the same bits for the same order of edges.
///
/// # Errors
/// A slice has the wrong length.
pub fn sum_one(own: &[f32], sent: Option<&[f32]>, edges: &mut [f32]) -> Result<()> {
    positive("the width of a message", own.len())?;
    rows("edges", edges.len(), own.len())?;
    if let Some(sent) = sent {
        length("sent", sent.len(), edges.len())?;
    }
    for (e, edge) in edges.chunks_exact_mut(own.len()).enumerate() {
        add_row(own, sent.map(|sent| &sent[e * own.len()..][..own.len()]), edge);
    }
    Ok(())
}

fn add_row(own: &[f32], sent: Option<&[f32]>, edge: &mut [f32]) {
    match sent {
        Some(sent) => {
            for ((z, own), sent) in edge.iter_mut().zip(own).zip(sent) {
                *z = (own + *z) + sent;
            }
        }
        None => edge.iter_mut().zip(own).for_each(|(z, own)| *z += own),
    }
}

/// The mean message of every agent, in `columns` of `means`.
///
/// # Errors
/// A slice does not fit the graph.
pub fn mean(graph: &Graph, columns: Columns, messages: &[f32], means: &mut [f32]) -> Result<()> {
    let Columns { stride, first, width } = columns;
    columns.check("means", means.len(), graph.agents())?;
    length("messages", messages.len(), graph.edges() * width)?;
    for (i, row) in means.chunks_exact_mut(stride).enumerate() {
        let (at, heard) = graph.neighbours(i);
        mean_one(&messages[at * width..][..heard.len() * width], &mut row[first..first + width])?;
    }
    Ok(())
}

/// The mean of rows; zero if there are none.
///
/// # Errors
/// They are not as wide as the mean.
pub fn mean_one(messages: &[f32], mean: &mut [f32]) -> Result<()> {
    let count = rows("messages", messages.len(), mean.len())?;
    mean.fill(0.0);
    for message in messages.chunks_exact(mean.len()) {
        mean.iter_mut().zip(message).for_each(|(mean, m)| *mean += *m);
    }
    if count > 0 {
        let weight = 1.0 / count as f32;
        mean.iter_mut().for_each(|mean| *mean *= weight);
    }
    Ok(())
}

/// The gradient of the messages, given that of their means.
///
/// # Errors
/// As [`mean`].
pub fn mean_backward(graph: &Graph, columns: Columns, dmeans: &[f32], dmessages: &mut [f32]) -> Result<()> {
    let Columns { stride, first, width } = columns;
    columns.check("dmeans", dmeans.len(), graph.agents())?;
    length("dmessages", dmessages.len(), graph.edges() * width)?;
    for (i, row) in dmeans.chunks_exact(stride).enumerate() {
        let (at, heard) = graph.neighbours(i);
        let weight = 1.0 / heard.len() as f32;
        for message in dmessages[at * width..][..heard.len() * width].chunks_exact_mut(width) {
            message.iter_mut().zip(&row[first..first + width]).for_each(|(d, dmean)| *d = weight * dmean);
        }
    }
    Ok(())
}

/// The gradients of receivers' and senders' rows, given that of z, which is also that of the edges' rows: `into.edges`.
///
/// # Errors
/// As [`sum`].
pub fn sum_backward(graph: &Graph, width: usize, into: Gradients<'_>) -> Result<()> {
    let Gradients { own, edges, mut sent } = into;
    positive("the width of a message", width)?;
    length("gradients.own", own.len(), graph.agents() * width)?;
    length("gradients.edges", edges.len(), graph.edges() * width)?;
    if let Some(sent) = &mut sent {
        graph.check_senders(rows("gradients.sent", sent.len(), width)?)?;
        sent.fill(0.0);
    }
    own.fill(0.0);
    for (i, down) in own.chunks_exact_mut(width).enumerate() {
        let (at, heard) = graph.neighbours(i);
        for (e, &j) in (at..).zip(heard) {
            let dz = &edges[e * width..][..width];
            down.iter_mut().zip(dz).for_each(|(to, dz)| *to += dz);
            if let Some(sent) = &mut sent {
                let to = &mut sent[j as usize * width..][..width];
                to.iter_mut().zip(dz).for_each(|(to, dz)| *to += dz);
            }
        }
    }
    Ok(())
}
