//! A junction with a light: which roads are its approaches, and on which sides.

use crate::city::{Approach, Junction};
use crate::net::{Link, Net, Way};
use crate::phases::Rules;
use equimarl_worlds::{Error, Result};

/// More than any light has.
const MOST_LINKS: usize = 1000;

fn bad(why: impl Into<String>) -> Error {
    Error::BadWorld(why.into())
}

/// The junction of a light with these links.
///
/// # Errors
/// If it is not of one junction with at most four approaches.
pub(crate) fn junction(net: &Net, light: &str, links: &[usize]) -> Result<Junction> {
    let node = net.edges[net.links[links[0]].from.0].to;
    let (mut edges, mut unseen): (Vec<usize>, Vec<usize>) = (vec![], vec![]);
    for link in links.iter().map(|&l| &net.links[l]) {
        if net.edges[link.from.0].to != node {
            return Err(bad(format!(
                "light {light} controls several junctions; give each its own (netconvert --tls.discard-loaded true --tls.guess true \
                 --tls.guess.threshold 0)"
            )));
        }
        let list = if net.edges[link.from.0].has_cars() { &mut edges } else { &mut unseen };
        if !list.contains(&link.from.0) {
            list.push(link.from.0);
        }
    }
    if edges.len() > 4 {
        let names: Vec<&str> = edges.iter().map(|&e| net.edges[e].id.as_str()).collect();
        return Err(bad(format!(
            "junction {light} has {} approaches with lights ({}); at most four can be driven: take its light away (netconvert \
             --tls.unset {}) or one of these roads (--remove-edges.explicit ROAD)",
            edges.len(),
            names.join(", "),
            net.nodes[node].id
        )));
    }
    let last = links.iter().filter_map(|&l| Some(net.links[l].light.as_ref()?.1)).max().unwrap_or(0);
    let crossed = net.crossings.iter().filter(|c| c.light.0 == light);
    let last = crossed.map(|c| c.light.1).fold(last, usize::max);
    if last >= MOST_LINKS {
        return Err(bad(format!(
            "light {light} has a link with the index {last}; at most {MOST_LINKS} links can be driven"
        )));
    }
    let angles: Vec<f64> = edges.iter().map(|&e| angle(net, e)).collect();
    let mut approaches = [const { None }; 4];
    for (&edge, side) in edges.iter().zip(sides(&angles)) {
        approaches[side] = Some(approach(net, edge, links));
    }
    for &edge in &unseen {
        follow(net, edge, links, &mut approaches);
    }
    // A net that lost roads keeps the letters of links that are gone.
    let program = net.programs.iter().find(|p| p.light == light).and_then(|p| p.phases.first());
    let count = program.map_or(0, |p| p.1.len()).max(last + 1);
    let rules = Rules::new(net, light, node, links);
    let phases = std::array::from_fn(|phase| rules.letters(&approaches, phase, count));
    Ok(Junction { light: light.into(), node, approaches, phases })
}

/// A road without cars, such as one for trams, goes when the approach goes that it runs beside.
fn follow(net: &Net, edge: usize, links: &[usize], approaches: &mut [Option<Approach>; 4]) {
    let angle = angle(net, edge);
    let own = links.iter().copied().filter(|&l| net.links[l].from.0 == edge);
    let there = approaches.iter_mut().enumerate().filter_map(|(side, a)| Some((side, a.as_mut()?)));
    let nearest = there.min_by(|a, b| off(angle, a.0).total_cmp(&off(angle, b.0)));
    if let Some((_, approach)) = nearest {
        approach.others.extend(own);
    }
}

/// Where a road comes from at its end, as an angle against the east, counter-clockwise, in quarter turns.
fn angle(net: &Net, edge: usize) -> f64 {
    let shape = &net.edges[edge].lanes[0].shape;
    let [end, before] = [shape[shape.len() - 1], shape[shape.len() - 2]];
    (before[1] - end[1]).atan2(before[0] - end[0]) / std::f64::consts::FRAC_PI_2
}

/// How far an angle is from a side of the compass, squared.
fn off(angle: f64, side: usize) -> f64 {
    let d = (angle - side as f64).rem_euclid(4.0);
    d.min(4.0 - d).powi(2)
}

/// A side of the compass for each of up to four angles, all different, so that they are off by as little as can be.
fn sides(angles: &[f64]) -> Vec<usize> {
    let mut best = (f64::MAX, vec![]);
    let mut chosen = vec![0; angles.len()];
    for code in 0..4usize.pow(angles.len() as u32) {
        let mut rest = code;
        chosen.fill_with(|| {
            let side = rest % 4;
            rest /= 4;
            side
        });
        let distinct = (1..chosen.len()).all(|i| !chosen[..i].contains(&chosen[i]));
        let total: f64 = angles.iter().zip(&chosen).map(|(&a, &s)| off(a, s)).sum();
        if distinct && total < best.0 {
            best = (total, chosen.clone());
        }
    }
    best.1
}

fn approach(net: &Net, edge: usize, links: &[usize]) -> Approach {
    let mut own: Vec<(usize, usize, Way, usize)> = vec![];
    let mut ways = vec![[false; 3]; net.edges[edge].lanes.len()];
    let mut others = vec![];
    for &l in links {
        let link = &net.links[l];
        let Some((_, place)) = link.light.as_ref().filter(|_| link.from.0 == edge) else { continue };
        if !net.edges[edge].lanes[link.from.1].cars {
            others.push(l);
            continue;
        }
        own.push((*place, link.from.1, link.way, link.to.0));
        // Who turns back does so among those who turn left.
        ways[link.from.1][(link.way as usize).min(2)] = true;
    }
    own.sort_unstable();
    // Upstream, as long as there is one way in and one way out. Nobody has to turn back.
    let leads = |l: &&Link| l.way != Way::Back;
    let (mut tail, mut begins) = (vec![], net.edges[edge].from);
    let mut here = edge;
    loop {
        let before = net.links.iter().filter(leads).filter(|l| l.to.0 == here);
        let mut before: Vec<usize> = before.map(|l| l.from.0).collect();
        before.dedup();
        let [only] = before[..] else { break };
        let branches = net.after(only).filter(leads).any(|l| l.to.0 != here || l.light.is_some());
        if branches || tail.contains(&only) || only == edge {
            break;
        }
        tail.push(only);
        begins = net.edges[only].from;
        here = only;
    }
    Approach { edge, tail, begins, lanes: net.edges[edge].for_cars().collect(), ways, links: own, others }
}
