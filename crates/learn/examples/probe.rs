//! probe
use equimarl_learn::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let world = if a[1] == "traffic" { WorldConfig::traffic() } else { WorldConfig::wildlife() };
    let mut c = TrainConfig::preset(&a[2], world, a[3].parse().unwrap()).unwrap();
    c.seed = a[4].parse().unwrap();
    c.steps = a[5].parse().unwrap();
    if let Some(l) = a.get(6) {
        c = TrainConfig::overlay(&c, l).unwrap();
    }
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    let g = c.group().unwrap();
    let t0 = std::time::Instant::now();
    macro_rules! go {
        ($w:expr,$m:expr) => {{
            let mut t = Trainer::new(&c, $w, $m).unwrap();
            let mut next = 0;
            while !t.is_finished() {
                let p = t.iterate().unwrap();
                if t.steps() >= next {
                    println!(
                        "{} ret {:.3} waiting {:.3} ent {:.3} kl {:.4} {:.0}/s",
                        t.steps(),
                        t.episodes().statistic(|f| f.total).mean,
                        t.episodes().statistic(|f| f.measure).mean,
                        p.entropy,
                        p.divergence,
                        t.steps() as f64 / t0.elapsed().as_secs_f64()
                    );
                    next += c.steps / 10;
                }
            }
        }};
    }
    match c.world.build(&g).unwrap() {
        AnyWorld::Wildlife(w) => go!(&w, |_| 0.0),
        AnyWorld::Traffic(w) => go!(&w, |w| w.mean_waiting()),
    }
}
