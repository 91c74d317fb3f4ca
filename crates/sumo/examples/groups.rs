//! The symmetry that is found for some nets, as the table in docs/sumo.md: `cargo run --release -p equimarl-sumo --example groups`.
//! Needs SUMO, which makes the grids; the last four are nets of the tests.

use equimarl_sumo::{City, Install, Net, Options, SumoDefinition, symmetry};
use equimarl_worlds::{Definition, Error, Result, Settings};
use std::path::Path;

fn main() -> Result<()> {
    let install = Install::find()?;
    let folder = std::env::temp_dir().join(format!("equimarl-groups-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| Error::BadWorld(e.to_string()))?;
    println!("| net | found |\n|---|---|");
    for (rows, cols, lanes, turns) in [(3, 3, 1, 1), (4, 4, 1, 1), (2, 3, 1, 1), (4, 4, 2, 1), (4, 4, 3, 0)] {
        let settings = Settings::usual(&SumoDefinition.options());
        let settings = settings.with("rows", rows as usize).with("cols", cols as usize);
        let settings = settings.with("lanes", lanes as usize).with("turn_lanes", turns as usize);
        let options = Options::of(&settings)?;
        let path = folder.join(options.grid_file());
        options.generate(&install, &path)?;
        row(&format!("generated {rows} x {cols}, {lanes} + {turns} lanes"), &path)?;
    }
    let nets = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nets");
    row("3 x 3 without the road between A1 and B1", &nets.join("removed.net.xml"))?;
    row("3 x 3 with one lane more on one road", &nets.join("extra.net.xml"))?;
    row("one junction with pavements, cycle tracks and crossings", &nets.join("walk.net.xml"))?;
    row("one junction with a light, four without, parallel roads", &nets.join("parallel.net.xml"))?;
    std::fs::remove_dir_all(&folder).map_err(|e| Error::BadWorld(e.to_string()))
}

fn row(name: &str, path: &Path) -> Result<()> {
    let found = symmetry::turns(&City::new(Net::read(path)?)?);
    println!("| {name} | {} |", symmetry::words(&found));
    Ok(())
}
