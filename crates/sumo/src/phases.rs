//! The letters of a junction's phases. Two links that go at the same time and cross: one of them yields, as the net says. People
//! on foot cross a road while no car comes from it, and none goes straight on into it; cars that turn into it yield to them.

use crate::city::Approach;
use crate::net::{Net, Way};

/// A link that goes in a phase.
#[derive(Clone, Copy)]
struct Open {
    /// Its place among the letters.
    place: usize,
    /// Where it comes from and leads to.
    roads: [usize; 2],
    way: Way,
}

/// What the net says about the links of a light.
pub(crate) struct Rules<'a> {
    net: &'a Net,
    node: usize,
    /// Places among the letters, and among the links of the junction. Several links may share a letter.
    places: Vec<(usize, usize)>,
    /// Places of crossings, and the roads that they cross.
    crossings: Vec<(usize, &'a [usize])>,
}

impl<'a> Rules<'a> {
    /// For a light with these links.
    pub(crate) fn new(net: &'a Net, light: &str, node: usize, links: &[usize]) -> Rules<'a> {
        let place = |&l: &usize| Some((net.links[l].light.as_ref()?.1, net.links[l].request));
        let own = net.crossings.iter().filter(|c| c.light.0 == light);
        Rules {
            net,
            node,
            places: links.iter().filter_map(place).collect(),
            crossings: own.map(|c| (c.light.1, &c.edges[..])).collect(),
        }
    }

    /// Whether one letter has to let another pass.
    fn yields(&self, place: usize, other: usize) -> bool {
        let requests = |place: usize| self.places.iter().filter(move |p| p.0 == place).map(|p| p.1);
        let rows = &self.net.nodes[self.node].yields;
        let must = |a: usize, b: usize| rows.get(a).and_then(|row| row.get(b)).copied().unwrap_or(false);
        requests(place).any(|a| requests(other).any(|b| must(a, b)))
    }

    /// The letters of a phase, if the junction has it.
    pub(crate) fn letters(
        &self,
        approaches: &[Option<Approach>; 4],
        phase: usize,
        count: usize,
    ) -> Option<String> {
        let open = self.open(approaches, phase)?;
        let mut letters = vec![b'r'; count];
        let turns_left = |way: Way| matches!(way, Way::Left | Way::Back);
        for link in &open {
            // In a phase of left turns, or of one approach alone, nobody comes from the other side.
            letters[link.place] = if phase < 2 && turns_left(link.way) { b'g' } else { b'G' };
        }
        for link in &open {
            if open.iter().any(|other| other.place != link.place && self.yields(link.place, other.place)) {
                letters[link.place] = b'g';
            }
        }
        for &(place, edges) in &self.crossings {
            let [from, to] = [0, 1].map(|end| move |o: &&Open| edges.contains(&o.roads[end]));
            let straight = |o: &Open| o.way == Way::Straight;
            if open.iter().any(|o| from(&o) || to(&o) && (phase >= 2 || straight(o))) {
                continue;
            }
            letters[place] = b'G';
            open.iter().filter(to).for_each(|o| letters[o.place] = b'g');
        }
        let goes = open.iter().any(|link| letters[link.place] == b'G');
        goes.then(|| String::from_utf8_lossy(&letters).into_owned())
    }

    /// Who goes in a phase, if the junction has it.
    fn open(&self, approaches: &[Option<Approach>; 4], phase: usize) -> Option<Vec<Open>> {
        let side = |side: usize| approaches[side].as_ref();
        if phase >= 4 {
            return Some(self.of(side(phase - 4)?));
        }
        let both = [side(phase % 2)?, side(phase % 2 + 2)?];
        let all = || both.into_iter().flat_map(|a| self.of(a));
        if phase < 2 {
            return Some(all().collect());
        }
        let mut lefts = both
            .into_iter()
            .flat_map(|a| a.links.iter().map(move |l| (a, l)))
            .filter(|(_, l)| l.2 == Way::Left);
        let own_lane = |(a, l): (&Approach, &(usize, usize, Way, usize))| a.ways[l.1] == [false, false, true];
        let any = lefts.clone().next().is_some();
        (any && lefts.all(own_lane))
            .then(|| all().filter(|o| matches!(o.way, Way::Left | Way::Back)).collect())
    }

    /// All links of an approach, those that are not seen included.
    fn of(&self, approach: &Approach) -> Vec<Open> {
        let seen =
            approach.links.iter().map(|&(place, _, way, to)| Open { place, roads: [approach.edge, to], way });
        let unseen = approach.others.iter().filter_map(|&l| {
            let link = &self.net.links[l];
            Some(Open { place: link.light.as_ref()?.1, roads: [link.from.0, link.to.0], way: link.way })
        });
        seen.chain(unseen).collect()
    }
}
