//! Is the law of an episode the same when it is turned? Looked at by place: a mean over all places is the same for an episode and
//! its turned twin, whatever the city is, so it could not tell.
//!
//! ```text
//! H      g X ~ X for every turn g, X what is lost on each road
//! z      X, less its mean over episodes and roads that turns exchange, as parts of the deviation over the same
//! T      the sum, or the largest, of (mean of z over episodes)^2 over roads
//! p      how often T(h_1 X_1, ..., h_n X_n) >= T(X_1, ..., X_n), each h_i drawn from all turns and none at all
//! ```
//!
//! Under H the turned episodes have the law of those that were played, so p is exact whatever that law is (a randomisation test; the
//! turns and none at all are a group). The sum sees what is a little uneven everywhere, the largest what is broken at one place: twice
//! the smaller p counts (Bonferroni). All turns are one test.

use equimarl_worlds::Stream;

/// How often turns are drawn.
const DRAWS: u32 = 10_000;

/// What came of a test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Law {
    /// By the sum, and by the largest.
    pub by_sum: f64,
    pub by_most: f64,
    /// Of both.
    pub p: f64,
    /// The most uneven place.
    pub most: usize,
    /// The mean of each place over episodes.
    pub means: Vec<f64>,
}

/// Tests episodes, each with a number for every place; turns say where they take each place.
pub(crate) fn test(episodes: &[Vec<f64>], turns: &[Vec<usize>], stream: &mut Stream) -> Law {
    let (n, places) = (episodes.len() as f64, episodes.first().map_or(0, Vec::len));
    let none: Vec<usize> = (0..places).collect();
    let all: Vec<&[usize]> = std::iter::once(&none).chain(turns).map(Vec::as_slice).collect();
    let z = standardised(episodes, &all);
    let uneven = |choose: &mut dyn FnMut() -> usize| -> Vec<f64> {
        let mut sums = vec![0.0; places];
        for z in &z {
            let turn = all[choose()];
            z.iter().zip(turn).for_each(|(z, &to)| sums[to] += z);
        }
        sums.iter().map(|sum| (sum / n).powi(2)).collect()
    };
    let both = |t: &[f64]| [t.iter().sum::<f64>(), t.iter().copied().fold(0.0, f64::max)];
    let here = uneven(&mut || 0);
    let (found, mut as_large) = (both(&here), [1u32; 2]);
    for _ in 0..DRAWS {
        let drawn = both(&uneven(&mut || stream.below(all.len() as u32) as usize));
        (0..2).for_each(|k| as_large[k] += u32::from(drawn[k] >= found[k] - 1e-9));
    }
    let [by_sum, by_most] = as_large.map(|count| f64::from(count) / f64::from(DRAWS + 1));
    let most = (0..places).max_by(|&a, &b| here[a].total_cmp(&here[b])).unwrap_or(0);
    let means = (0..places).map(|e| episodes.iter().map(|x| x[e]).sum::<f64>() / n).collect();
    Law { by_sum, by_most, p: (2.0 * by_sum.min(by_most)).min(1.0), most, means }
}

/// Less the mean of all places that turns exchange, as parts of their deviation: the same whatever way episodes are turned.
fn standardised(episodes: &[Vec<f64>], turns: &[&[usize]]) -> Vec<Vec<f64>> {
    let places = episodes.first().map_or(0, Vec::len);
    let count = (episodes.len() * turns.len()) as f64;
    let over = |e: usize, of: &dyn Fn(f64) -> f64| {
        let images = episodes.iter().flat_map(|x| turns.iter().map(move |turn| x[turn[e]]));
        images.map(of).sum::<f64>() / count
    };
    let scales: Vec<[f64; 2]> = (0..places)
        .map(|e| {
            let mean = over(e, &|x| x);
            [mean, over(e, &|x| (x - mean).powi(2)).sqrt()]
        })
        .collect();
    let one = |(x, [mean, deviation]): (&f64, &[f64; 2])| {
        if *deviation > 1e-9 { (x - mean) / deviation } else { 0.0 }
    };
    episodes.iter().map(|x| x.iter().zip(&scales).map(one).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use equimarl_worlds::Purpose;

    /// Places 0 to 3, 4 to 7, ... go round.
    fn turns(places: usize) -> Vec<Vec<usize>> {
        [1, 2, 3].map(|q| (0..places).map(|e| e / 4 * 4 + (e + q) % 4).collect()).to_vec()
    }

    /// Twelve episodes of skewed numbers that depend on each other within an episode.
    fn episodes(places: usize, stream: &mut Stream) -> Vec<Vec<f64>> {
        let episode = |_| {
            let common = stream.unit();
            (0..places).map(|_| -((1.0 - stream.unit()).ln()) * (1.0 + common)).collect()
        };
        (0..12).map(episode).collect()
    }

    #[test]
    fn laws_that_turn_are_refuted_as_rarely_as_p_says() {
        let (mut rare, mut half) = (0, 0);
        let tests = 100;
        for seed in 0..tests {
            let mut stream = Stream::new(seed, Purpose::Audit, 0);
            let law = test(&episodes(8, &mut stream), &turns(8), &mut stream);
            rare += u32::from(law.p < 0.05);
            half += u32::from(law.by_sum < 0.5);
        }
        // Binomial: at most 5 expected, deviation 2.2; and 50, deviation 5.
        assert!(rare <= 12 && (30..=70).contains(&half), "{rare} and {half} of {tests}");
    }

    #[test]
    fn one_broken_place_and_a_little_everywhere_are_seen() {
        let mut stream = Stream::new(1, Purpose::Audit, 0);
        let sound = episodes(80, &mut stream);
        assert!(test(&sound, &turns(80), &mut stream).p > 0.01);
        let mut broken = sound.clone();
        broken.iter_mut().for_each(|x| x[6] += 12.0);
        let law = test(&broken, &turns(80), &mut stream);
        assert!(law.p < 0.001 && law.most == 6, "{law:?}");
        // As with uneven demand: the mean over all places is what it was.
        let mut tilted = sound.clone();
        tilted.iter_mut().for_each(|x| {
            x.iter_mut().enumerate().for_each(|(e, x)| *x *= if e % 2 == 0 { 1.4 } else { 0.6 })
        });
        let law = test(&tilted, &turns(80), &mut stream);
        assert!(law.p < 0.001, "{law:?}");
        // A half turn leaves it as it is.
        assert!(test(&tilted, &turns(80)[1..2], &mut stream).p > 0.01);
        // Nothing at all is even.
        assert!(test(&vec![vec![0.0; 8]; 12], &turns(8), &mut stream).p > 0.99);
    }
}
